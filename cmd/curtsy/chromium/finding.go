package chromium

import (
	"strings"
	"unicode/utf8"
)

// Kind is what a finding is.
type Kind string

// The kinds.
const (
	Request   Kind = "request"   // it failed
	Console   Kind = "console"   // an error in the browser's console
	Exception Kind = "exception" // that no script caught
	NotOpened Kind = "page"      // the page hung, crashed, or was not shown
)

// Finding is what failed on a page.
type Finding struct {
	Page string `json:"page"` // as it was given
	Kind Kind   `json:"kind"`
	URL  string `json:"url,omitempty"`  // that was asked for, or of the script
	Type string `json:"type,omitempty"` // of a request: "Script", "Fetch", …, in Chromium's words
	Line int64  `json:"line,omitempty"` // in the script
	Why  string `json:"why"`
	// Refused says that the browser had the file and refused it, because the page was opened from disk.
	Refused bool `json:"refused,omitempty"`
	// Elsewhere says that it was to be asked for on the web.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// Totals count what was opened and asked for.
type Totals struct {
	Pages     int64 `json:"pages"`
	Requests  int64 `json:"requests"`  // data: and blob: URLs aside
	Elsewhere int64 `json:"elsewhere"` // of those: to the web, which nobody was asked
	Dropped   int64 `json:"dropped,omitempty"`
}

// maxText is how much of a text or URL is kept.
const maxText = 1000

func short(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxText {
		return s
	}
	s = s[:maxText]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}
