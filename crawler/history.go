package crawler

import (
	"curtsy/crawler/fetch"
	"curtsy/crawler/trap"
	"curtsy/frontier"
)

// What the traps of politeness rule 22 remember of a host is judged and told here; package trap says what it means.

// meet counts a task that was asked for.
func (v *visit) meet(task frontier.Task) {
	if untried(task) {
		v.history.Turn(task.URL)
	}
}

// watched reports whether the shape of a task's page is worth knowing.
func (v *visit) watched(task frontier.Task, limits trap.Limits) bool {
	return v.history.Watches(task.URL, limits)
}

// digest takes in what a page says, and reports whether it is a copy whose links are dropped.
func (v *visit) digest(task frontier.Task, read digested, limits trap.Limits) (copied bool) {
	for _, l := range read.page.Links {
		if l.Embed && l.Element != "link" && l.Element != "script" {
			read.says.Embed(l.URL)
		}
	}
	text, shape := read.says.Digests()
	v.history.Brought(task.URL, shape, limits)
	copies := v.history.Copies(task.Via, text)
	switch {
	case len(read.page.Links) == 0:
		return false
	case limits.Drops(copies):
		return true
	case limits.Copies():
		v.history.Leads(task.URL, text, copies)
	}
	return false
}

// undigested takes in an answer that is no HTML, or none that can be read.
func (v *visit) undigested(task frontier.Task, ex *fetch.Exchange, limits trap.Limits) {
	v.history.Brought(task.URL, trap.Shape(ex.PayloadDigest[:]), limits)
}
