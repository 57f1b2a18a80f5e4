package jinja

// Context is one render in progress.
type Context struct{}
