// Package plugins runs the Python filter, test and lookup plugins that
// projects, roles and collections bring, in one helper process per
// controller. See docs/adr/0003-python-plugins.md.
package plugins
