// Package watch repeats a crawl continuously, within a daily budget of requests to each host.
//
//	ended ─ Plan ─▶ pages due ─ crawldir.BeginRound ─▶ crawldir.Run ─▶ ended ─ sleep until the next is due ─▶ …
//
// A round is an update of the due pages: a generation of the crawl, with conditional requests, the same politeness, archive
// and ledger. New links are followed as in any crawl.
//
// Plans use only the ledger and archived sitemaps, so a kill is harmless. Ledger lines are sorted by host and URL
// on disk, each page's lines become a freshness.History, and the pages of a host share its budget (package freshness).
//
// # Invariants
//
//   - No page is due within Policy.Min of its last visit.
//   - No host gets more requests within 24 hours than the settings allow: the plan leaves a reserve, and budget.Daily also
//     counts robots.txt, redirects and new pages.
//   - A site's hints move a visit only within the bounds of the policy.
//   - The time between two plans is at least nineteen times that of making one, which limits the cost for large crawls.
package watch
