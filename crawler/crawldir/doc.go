// Package crawldir creates, runs and updates crawl directories, and stores their settings.
// Programs that crawl use this package.
//
//	Create ─▶ Run ─▶ ended ─ Update ─▶ Run ─▶ …
//	           ▲        │
//	           └────────┴─ stopped or killed: Run resumes it; OpenStopped is for operators
//
// The lock of the frontier guards the whole directory: Open takes it first, then opens archive, index and ledger and cuts
// off their torn ends. Before each commit of the frontier the archive is synced, then the ledger: a URL that is done has
// its record.
//
// A directory keeps its settings as TOML under ConfigName. The names of settings are the keys of such files and the long
// flags of the program; errors name them as flags: --ip-delay.
//
// The package does not print, catches no signal and ends no process. It reports a Note for people, a Misuse for an
// invalid setting, seed or directory, and a DirError for the state of a directory.
package crawldir
