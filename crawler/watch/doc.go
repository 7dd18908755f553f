// Package watch repeats a crawl continuously, within a daily budget of requests to each host.
//
//	ended ─ Plan ─▶ pages due ─ crawldir.BeginRound ─▶ crawldir.Run ─▶ ended ─ sleep until the next is due ─▶ …
//
// A round is an update of the pages that are due: a generation of the crawl, with conditional requests, the same robots
// gate, pace and opt-out lists, and the same archive and ledger. What is new in a page is followed as in any crawl.
//
// # The plan
//
// There is no store. The ledger has each visit of each page with what became of it, and a plan is made of it alone: lines
// are sorted by host and URL on disk, each page's become a freshness.History, and each host's pages share its budget
// (package freshness). Sitemaps add what they say of pages. So a kill loses nothing, and a plan can be made anew, and
// looked at, at any time.
//
// # Invariants
//
//   - No page is due within Policy.Min of its last visit.
//   - No host gets more requests within 24 hours than the settings allow. The plan aims below that (reserve), and
//     budget.Daily keeps it, for robots.txt, redirects and new pages, too.
//   - Hints of a site move a visit within the bounds of the policy, never beyond.
//   - Between two rounds lies a time that is nineteen times as long as it took to make the plan: a large crawl is not
//     planned all the time.
//
// It never asks anybody for anything itself.
package watch
