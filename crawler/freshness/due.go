package freshness

import "time"

// What else says when a visit is due.
const (
	ByListed By = "lastmod" // a sitemap says that the page changed since
	ByNew    By = "new"     // nobody visited it
)

// Due is when the next visit of a page is due that was visited last at last, zero for never, and what said so. listed is
// the lastmod of a sitemap, or zero: one that lies between last and now brings the visit forward, as far as p.Min allows.
func (p Policy) Due(last time.Time, iv Interval, listed, now time.Time) (time.Time, By) {
	if last.IsZero() {
		return now, ByNew
	}
	due, by := last.Add(iv.Every), iv.By
	if early := last.Add(p.WithDefaults().Min); listed.After(last) && !listed.After(now) && early.Before(due) {
		return early, ByListed
	}
	return due, by
}

// Believed reports whether the lists of a host are believed that say of so many of its pages that they changed since they
// were visited. A site that says it of all of them, as one does that makes its sitemap anew each day, says nothing.
func Believed(changed, pages int) bool { return changed <= max(10, pages/10) }
