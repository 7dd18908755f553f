package repair

import (
	"fmt"
	"strings"
)

// Salvage says what a Rebuild found, and what it did not.
type Salvage struct {
	// The damaged file.
	Pages      int64 // that the file has, whole or in part
	LostPages  int64 // that the last commit refers to and that are not there or something else
	Spoilt     int64 // values within it whose checksum does not match
	Ambiguous  int64 // values of which there are several versions, none of them in the last commit: left out
	LostValues int64 // that must have been there, by the gaps among the numbers of the others, in all journals
	MetaSpoilt bool  // one of the two meta pages is not valid: the last commit may be missing
	NewSecret  bool  // the key of the fingerprints was lost: those of URLs without a text are gone
	OldTotals  bool  // the totals of the last commit were lost: counts and the names of reasons are those of an older one
	NoTotals   bool  // all were: counts are gone, reasons are called by ReasonLost

	// The new file.
	Hosts   int64
	URLs    int64 // with their texts
	Closed  int64 // of these
	Refused int64 // fingerprints of refused candidates, and of URLs whose text was lost
	Seeds   int64
	Blobs   int64

	// The losses.
	LostHosts      int64 // hosts whose name was lost
	ResetHosts     int64 // hosts whose state was lost: open, with nothing known of them
	LostRecords    int64 // batches of up to 128 URLs of which the text was lost
	LostURLs       int64 // URLs of which the host's name or the text itself was lost
	Repeated       int64 // URLs that were there more than once: the first counts
	LostTexts      int64 // fingerprints that no text belongs to, beyond those of refused candidates: closed with ReasonLost
	LetGo          int64 // fingerprints that neither text nor ledger knows: their URLs are new when they are found again
	LostForgotten  int64 // URLs of which Compact had dropped the text, and whose fingerprints are not all there: likewise
	LostEndings    int64 // endings of URLs that were lost themselves
	LostBlobs      int64
	LedgerClosed   int64 // pending URLs that the ledger knows as ended
	LedgerAdded    int64 // ended URLs that only the ledger knew
	LedgerUnneeded int64 // lines of the ledger that said nothing new
}

// ReasonLost is the reason of what a Rebuild could not find out: of a URL whose reason was lost, and of one that is
// Dropped because only its fingerprint is left.
const ReasonLost = "lost in a rebuild"

// Whole reports whether nothing was lost or made up for.
func (s Salvage) Whole() bool {
	return s.LostPages+s.Spoilt+s.Ambiguous+s.LostValues+s.LostHosts+s.ResetHosts+s.LostRecords+s.LostURLs+s.Repeated+
		s.LostTexts+s.LostForgotten+s.LostEndings+s.LostBlobs == 0 && !s.MetaSpoilt && !s.NewSecret && !s.OldTotals && !s.NoTotals
}

// String says it for people, one finding a line, and leaves out what is not the case.
func (s Salvage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "salvaged: %d URLs of %d hosts, %d of them closed; %d refused, %d seeds, %d blobs\n",
		s.URLs, s.Hosts, s.Closed, s.Refused, s.Seeds, s.Blobs)
	for _, x := range []struct {
		n    int64
		text string
	}{
		{s.LostPages, "pages of the last commit could not be read"},
		{s.Spoilt, "values have a wrong checksum"},
		{s.Ambiguous, "values were there in several versions and left out"},
		{s.LostValues, "values are missing"},
		{s.LostHosts, "hosts lost their names"},
		{s.ResetHosts, "hosts lost their state: they are open again"},
		{s.LostRecords, "batches of URLs were lost"},
		{s.LostURLs, "URLs of other batches were lost"},
		{s.Repeated, "URLs were there more than once"},
		{s.LostTexts, "fingerprints have lost their URLs: these are dropped"},
		{s.LetGo, "fingerprints were let go: their URLs are new when they are found again"},
		{s.LostForgotten, "URLs that were compacted away could not be kept"},
		{s.LostEndings, "endings are of URLs that were lost"},
		{s.LostBlobs, "blobs were lost"},
		{s.LedgerClosed, "pending URLs were closed by the ledger"},
		{s.LedgerAdded, "closed URLs were added from the ledger"},
	} {
		if x.n > 0 {
			fmt.Fprintf(&b, "%d %s\n", x.n, x.text)
		}
	}
	for _, x := range []struct {
		is   bool
		text string
	}{
		{s.MetaSpoilt, "a meta page is not valid: the last commit may be missing"},
		{s.NewSecret, "the key of the fingerprints was lost: there is a new one"},
		{s.OldTotals, "the totals are those of an older commit"},
		{s.NoTotals, "the totals and the names of reasons were lost"},
		{s.Whole(), "nothing was lost"},
	} {
		if x.is {
			fmt.Fprintln(&b, x.text)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
