// Package plugins runs the Python filter, test, lookup, action and inventory
// plugins that projects, roles and collections bring, in helper processes of the
// controller's own ansible-core. See docs/adr/0003-python-plugins.md.
//
// # Protocol
//
// A frame is 4 bytes of length, big endian, and a JSON object. The first frame
// to a helper says where things are ("path", "collections"); then each frame
// has an "op": dirs, find, filter, test, lookup, action, wants, inventory. The
// answer is one frame with "value", "error" (exceptions, outermost first) or
// "undefined" (the hint). Before it the helper may send any number of "note"
// frames (messages to show) and, in a lookup, action or inventory, of "ask"
// frames (variable, names, host, decrypt; module, raw, put, get, find, reset),
// each of which gets one frame with "value" or "error". Values are JSON; what
// JSON lacks is an object {"~": KIND, "v": VALUE}. Frames are at most 64 MiB.
package plugins
