package storage

import "strings"

// Asked sums up exchanges: those that have a record each.
type Asked struct {
	Exchanges int64 // robots.txt and redirects included
	Answers   int64 // of them, those that brought a response head
	Robots    int64 // of them, those for robots.txt
	Octets    int64 // received

	Kinds map[string]int64 // of the answers, by KindsOfAnswer
}

// Prefixes of the names of KindsOfAnswer.
const (
	PrefixStatus = "status: " // and the class of the status code
	PrefixType   = "type: "   // and the media type of a 2xx answer
)

// KindsOfAnswer are the names under which an answer is counted: its class of status, and if that is 2xx its media type as
// TypeWord has it.
func KindsOfAnswer(status int, mediaType string) []string {
	switch {
	case status < 100 || status > 599:
		return nil
	case status/100 == 2:
		return []string{PrefixStatus + "2xx", PrefixType + TypeWord(mediaType)}
	}
	return []string{PrefixStatus + string('0'+rune(status/100)) + "xx"}
}

// TypeWord is a media type for statistics: one of few words, whatever servers invent.
func TypeWord(mediaType string) string {
	switch mediaType {
	case "":
		return "none"
	case "text/html", "text/plain", "text/css", "text/xml", "text/javascript", "application/xhtml+xml", "application/xml",
		"application/json", "application/javascript", "application/pdf", "application/rss+xml", "application/atom+xml":
		return mediaType
	}
	switch top, _, _ := strings.Cut(mediaType, "/"); top {
	case "text", "image", "audio", "video", "font", "application":
		return top + "/*"
	}
	return "other"
}

// Beyond returns what a has and b has not, nothing of it below zero.
func (a Asked) Beyond(b Asked) Asked {
	more := Asked{
		max(a.Exchanges-b.Exchanges, 0), max(a.Answers-b.Answers, 0),
		max(a.Robots-b.Robots, 0), max(a.Octets-b.Octets, 0), map[string]int64{},
	}
	for name, n := range a.Kinds {
		if n > b.Kinds[name] {
			more.Kinds[name] = n - b.Kinds[name]
		}
	}
	return more
}
