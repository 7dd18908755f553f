// Package inquiry asks hosts for their robots.txt outside of a crawl, as a crawl of this user would: under its identity,
// behind the guard, with its opt-out lists, and at the pace of the host and of its address, which all crawls and other
// commands of the user keep with it (politeness rule 26), as they keep what a host asked any of them for. It records nothing.
package inquiry
