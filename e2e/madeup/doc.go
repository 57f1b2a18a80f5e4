// Package madeup makes up whole projects (playbooks, roles, inventories,
// options) from a seed, runs each with ansible-core and with Volant, and makes
// what they disagree on as small as it can.
package madeup
