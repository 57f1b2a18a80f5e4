package playbook

import (
	"sync"

	"volant/wire/value"
)

// Parent is what a block or task stands in: a *Block, or the *Task of an
// include or import that brought it in.
type Parent interface{ up() Parent }

// Block is a block of tasks. Tasks that stand outside of any block are each in
// a block of their own that is Implicit.
type Block struct {
	ID       uint64
	Keywords Keywords // raw, without block, rescue and always
	Vars     *value.Dict
	Pos      value.Pos
	Block    []Node
	Rescue   []Node
	Always   []Node
	Implicit bool
	Parent   Parent // nil at the top of a play, role or task file
	Play     *Play
	Role     *Role // the role whose file the block stands in, or nil
	// DepChain are the roles that lead to Role, outermost first, Role last,
	// once the role has been compiled; nil means the parent's.
	DepChain []*Role

	once      sync.Once // guards effective
	effective Keywords  // what its tasks inherit, see Effective
}

// Node is a *Block or a *Task in the list of a block.
type Node interface{ node() }

func (*Block) node()        {}
func (b *Block) up() Parent { return b.Parent }

// Empty reports whether the block has no tasks at all.
func (b *Block) Empty() bool { return len(b.Block)+len(b.Rescue)+len(b.Always) == 0 }

// Up is what p stands in, or nil at the top.
func Up(p Parent) Parent { return p.up() }
