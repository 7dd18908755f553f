// Package directory shows a crawl directory on a dashboard. A crawl that runs is asked, and steered, through its control
// interface, be it of this process or of another; of one that does not run the frontier is read. Decisions come from the
// files of the ledger in both cases. Nothing here writes into a directory.
package directory
