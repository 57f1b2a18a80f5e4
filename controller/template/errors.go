package template

import (
	"errors"
	"fmt"

	"volant/controller/fault"
	"volant/controller/jinja"
	"volant/wire/value"
)

// The reference's exception names.
const (
	classTemplate    = "AnsibleTemplateError"
	classSyntax      = "AnsibleTemplateSyntaxError"
	classUndefined   = "AnsibleUndefinedVariable"
	classUntrusted   = "TemplateTrustCheckFailedError"
	classConditional = "AnsibleBrokenConditionalError"
	classOmitted     = "AnsibleValueOmittedError"
	classRuntime     = "AnsibleTemplatePluginRuntimeError"
	classNotFound    = "AnsibleTemplatePluginNotFoundError"
	classPlugin      = "AnsibleTemplatePluginError"
)

// errRecursion is at the end of a chain about a variable that names itself.
var errRecursion = errors.New("maximum recursion depth exceeded")

// newFault makes a link about obj: a *value.Template, a value.Pos or a text.
func newFault(kind fault.Kind, class, msg string, obj any, cause error) *fault.Error {
	e := &fault.Error{Kind: kind, Class: class, Msg: msg, Cause: cause}
	about(e, obj)
	return e
}

func about(e *fault.Error, obj any) {
	switch obj := obj.(type) {
	case *value.Template:
		if obj != nil {
			e.Pos, e.Excerpt = obj.Pos, obj.Text
		}
	case value.Pos:
		e.Pos = obj
	case string:
		e.Excerpt = obj
	default:
		e.Pos = value.PosOf(obj)
	}
}

// asFault makes what a render failed with an error for users, about t. What is
// a template error already stays as it is.
func asFault(err error, t *value.Template, expression bool) error {
	kind := "template"
	if expression {
		kind = "expression"
	}
	var (
		fe     *fault.Error
		u      *value.Undefined
		syntax *jinja.SyntaxError
		plugin *jinja.PluginError
		head   *headerError
	)
	switch {
	case errors.As(err, &u):
		if u.Err != nil {
			if t == nil || !u.Pos.IsZero() && u.Pos != t.Pos {
				t = value.NewTemplate("", u.Pos)
			}
			return asFault(u.Err, t, expression)
		}
		e := newFault(fault.Undefined, classUndefined, u.Hint, t, nil)
		if !u.Pos.IsZero() {
			e.Pos = u.Pos
		}
		return e
	case errors.As(err, &plugin):
		return newFault(fault.Template, classRuntime, fmt.Sprintf("The %s plugin '%s' failed.", plugin.Kind, plugin.Name), t, pluginCause(plugin.Err))
	case errors.As(err, &fe):
		if fe.Kind != fault.Generic && fe.Class != "" { // a template error already
			if fe.Pos.IsZero() && fe.Excerpt == "" {
				about(fe, t)
			}
			return err
		}
	case errors.As(err, &syntax), errors.As(err, &head):
		msg := "Syntax error in " + kind + "."
		if expression && t != nil && possiblyTemplate(t.Text) {
			msg += " Template delimiters are not supported in expressions."
		}
		return newFault(fault.Template, classSyntax, msg, t, err)
	}
	var x *value.Exception
	if errors.As(err, &x) && x.Class == "RecursionError" {
		return newFault(fault.Template, classTemplate, "Recursive loop detected in "+kind+".", t, err)
	}
	return newFault(fault.Template, classTemplate, "Error rendering "+kind+".", t, err)
}

// pluginCause keeps what the link above already says out of the chain.
func pluginCause(err error) error {
	var u *value.Undefined
	if errors.As(err, &u) && u.Err != nil {
		return u.Err
	}
	return err
}

func recursionError(t *value.Template) error {
	return newFault(fault.Template, classTemplate, "Recursive loop detected in template.", t, errRecursion)
}

func vaultError(v *value.Vault, cause error) error {
	return newFault(fault.Template, "", "Attempt to use undecryptable variable.", v.Pos, cause)
}

func untrusted(obj any) error {
	e := newFault(fault.Template, classUntrusted, "Encountered untrusted template or expression.", obj, nil)
	e.Help = "Templates and expressions must be defined by trusted sources such as playbooks or roles, not untrusted sources such as module results."
	return e
}

func brokenConditional(msg string, obj any) error {
	e := newFault(fault.Template, classConditional, msg, obj, nil)
	e.Help = "Broken conditionals can be temporarily allowed with the `ALLOW_BROKEN_CONDITIONALS` configuration option."
	return e
}

func omitted(t *value.Template) error {
	e := newFault(fault.Omitted, classOmitted, "A template was resolved to an Omit scalar.", t, nil)
	e.Help = "Callers must be prepared to handle this value. This is most likely a bug in the code requesting templating."
	return e
}
