// Package evidencecmd is the commands about what a crawl leaves behind: audit judges it, report tells of it, pack puts it
// into one file, and ledger shows where the chain of decisions stands.
package evidencecmd
