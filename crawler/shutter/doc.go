// Package shutter keeps a run within its window: outside of it no exchange begins, those under way go on, and the run waits
// for the next opening, or ends when that is too far away.
package shutter
