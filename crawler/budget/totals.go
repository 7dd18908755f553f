package budget

import (
	"strings"

	"curtsy/storage"
)

// The names.
const (
	Pages           = "pages"     // 2xx HTML answers
	Bytes           = "bytes"     // received, as they crossed the connection
	Exchanges       = "exchanges" // requests, robots.txt and redirects included
	Answers         = "answers"   // exchanges that brought a response head
	Robots          = "robots"    // exchanges for robots.txt
	Truncated       = "truncated" // bodies cut by our own limits
	Sitemaps        = "sitemaps"  // sitemaps read
	Listed          = "listed"    // what stood in them, taken or not
	SeedsUnanswered = "seeds unanswered"
	OddRetryAfter   = "odd retry-after" // Retry-After fields that cannot be read, or ask for over a year
	Runs            = "runs"            // in which at least one turn was taken: an operator opens the frontier, too
	NoIndex         = "noindex"         // answers that ask not to be indexed
	NoArchive       = "noarchive"       // answers that ask not to be archived
	RefusedAgain    = "refused again"   // refused URLs that were met again, or by another way, and have their line already
)

// EmptyWithoutScript is the reason of PrefixUnparsed for pages that show nothing to whoever runs no scripts.
const EmptyWithoutScript = "empty without JavaScript"

// Prefixes of names that end with a word.
const (
	PrefixLinks      = "links: "           // links of pages that are no candidates, by reason
	PrefixUnparsed   = "unparsed: "        // pages and the like that were fetched and not read, or not whole, by reason
	PrefixFailures   = "failures: "        // exchanges that a host failed, robots.txt included, by class, mended by a retry or not
	PrefixScripts    = "named by script: " // URLs that scripts alone name, by what became of them
	PrefixChanges    = "changes: "         // URLs, by what became of them since the generation before
	PrefixUnanswered = "unanswered seed "  // seeds without a usable answer, one each
	prefixTag        = "pages of tag "     // where pages are counted by the tag of their seed
)

// OfTag is the name of the total of a tag's pages.
func OfTag(tag string) string { return prefixTag + tag }

// Tag is the tag whose pages a total counts.
func Tag(name string) (tag string, ok bool) { return strings.CutPrefix(name, prefixTag) }

// IsPages reports whether a total counts pages, by whatever.
func IsPages(name string) bool { return name == Pages || strings.HasPrefix(name, prefixTag) }

// IsCost reports whether a total counts what was done and cannot be taken back: octets were received, and a host was asked.
func IsCost(name string) bool {
	switch name {
	case Exchanges, Bytes, Answers, Robots, OddRetryAfter:
		return true
	}
	return strings.HasPrefix(name, PrefixFailures) || strings.HasPrefix(name, storage.PrefixStatus) || strings.HasPrefix(name, storage.PrefixType)
}
