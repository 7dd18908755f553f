// Package crawldir creates, runs and updates crawl directories, and stores their settings.
// Programs that crawl use this package.
//
//	Create ─▶ Run ─▶ ended ─ Update ─▶ Run ─▶ …
//	           ▲        │
//	           └────────┴─ stopped or killed: Run goes on; OpenStopped is for operators
//
// # The directory
//
// Create writes a directory under another name and renames it, with settings and seeds: there is a whole crawl or none. The
// lock of its frontier is the directory's. Open takes that first, and touches nothing else before; then archive, index
// and ledger, whose torn ends it cuts off. Before each commit of the frontier the archive is synced, then the ledger: what
// is done has its record. Close goes the other way.
//
// # Generations
//
// Update begins a generation with a frontier of its own, built beside the old one, whose name it takes in one step. Package
// past has what the archive had before, and says what changed.
//
// # Settings
//
// Settings are all that a crawl can be told. Defaults has the values that hold where nobody says otherwise; ReadSettings
// reads those of a directory, which keeps them as TOML under ConfigName. Names of settings are the keys of such files and
// the long flags of the program, and errors name them as flags: --ip-delay.
//
// The package prints nothing, catches no signal and ends no process. What people should hear is a Note. A Misuse is an
// error in what it was asked for: a setting, a seed or a directory that has to be another; a DirError is what is wrong with
// a directory. Their texts say what and where; which command helps is for the program to say.
package crawldir
