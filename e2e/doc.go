// Package e2e holds tests of the whole program: a server in a process of its own that
// is killed, real clients, small history windows, watchers that stall, full disks.
package e2e
