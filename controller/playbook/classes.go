package playbook

// class is a kind of object with its own set of keywords.
type class struct {
	name     string
	keywords map[string]Keyword
	order    []Keyword
}

var baseKeywords = []Keyword{
	Name, Connection, Port, RemoteUser, Vars, ModuleDefaults, Environment, NoLog, RunOnce, IgnoreErrors,
	IgnoreUnreachable, CheckMode, Diff, AnyErrorsFatal, Throttle, Timeout, Debugger, Become, BecomeMethod,
	BecomeUser, BecomeFlags, BecomeExe,
}

var taskOwn = []Keyword{
	When, Tags, Collections, Notify, DelegateTo, DelegateFacts, ArgsKeyword, Action, Async, ChangedWhen, Delay,
	FailedWhen, Loop, LoopControlKeyword, Poll, Register, Retries, Until, LoopWith,
}

func newClass(name string, lists ...[]Keyword) *class {
	c := &class{name: name, keywords: map[string]Keyword{}}
	for _, l := range lists {
		for _, k := range l {
			c.keywords[k.String()] = k
			c.order = append(c.order, k)
		}
	}
	return c
}

// The classes, by the names that error messages give them.
var (
	playClass = newClass("Play", baseKeywords, []Keyword{
		Tags, Collections, Hosts, GatherFacts, GatherSubset, GatherTimeout, FactPath, VarsFiles, VarsPrompt, Roles,
		Handlers, PreTasks, PostTasks, Tasks, ForceHandlers, MaxFailPercentage, Serial, Strategy, Order,
	})
	blockClass        = newClass("Block", baseKeywords, []Keyword{When, Collections, Tags, Notify, DelegateTo, DelegateFacts, BlockKeyword, Rescue, Always})
	taskClass         = asyncAlias(newClass("Task", baseKeywords, taskOwn))
	handlerClass      = asyncAlias(newClass("Handler", baseKeywords, taskOwn, []Keyword{Listen}))
	taskIncludeClass  = asyncAlias(newClass("TaskInclude", baseKeywords, taskOwn))
	handlerIncClass   = asyncAlias(newClass("HandlerTaskInclude", baseKeywords, taskOwn, []Keyword{Listen}))
	includeRoleClass  = asyncAlias(newClass("IncludeRole", baseKeywords, taskOwn, []Keyword{Public, AllowDuplicates, RolespecValidate}))
	roleClass         = newClass("RoleInclude", baseKeywords, []Keyword{When, Tags, Collections, RoleKeyword, DelegateTo, DelegateFacts})
	metadataClass     = newClass("RoleMetadata", baseKeywords, []Keyword{Collections, AllowDuplicates, Dependencies, GalaxyInfo, ArgumentSpecs})
	playbookIncClass  = newClass("PlaybookInclude", baseKeywords, []Keyword{When, Tags, ImportPlaybook})
	loopControlClass  = newClass("LoopControl", []Keyword{LoopVar, IndexVar, Label, Pause, Extended, ExtendedAllitems, BreakWhen})
	anyTaskKeyword    = taskWords()
	includeKeywordSet = map[string]bool{
		"action": true, "args": true, "collections": true, "debugger": true, "ignore_errors": true, "loop": true,
		"loop_control": true, "loop_with": true, "name": true, "no_log": true, "register": true, "run_once": true,
		"tags": true, "timeout": true, "vars": true, "when": true,
	}
)

// asyncAlias adds the reference's other name of async.
func asyncAlias(c *class) *class {
	c.keywords["async_val"] = Async
	return c
}

// taskWords are the keys of a task that are never taken for its action.
func taskWords() map[string]bool {
	out := map[string]bool{"local_action": true, "static": true}
	for k := range handlerClass.keywords {
		out[k] = true
	}
	return out
}
