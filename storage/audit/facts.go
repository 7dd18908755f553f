package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
)

// facts are what request and answer of an exchange of ours tell, beside what its line says. wrong returns "" where they
// agree, or where nothing tells.
var facts = []struct {
	required string
	wrong    func(h *evidence.Joined, in *evidence.Info) string
}{
	{"no body in the answer to a HEAD request (RFC 9110 9.3.2)", headBody},
	{"a body that ends where its head states (RFC 9112 6.3), unless the response is marked as truncated", framing},
	{"lastModified as the answer's Last-Modified has it (ledger reference)", lastModified},
	{"directives that include the response's X-Robots-Tag (ledger reference)", directives},
	{fmt.Sprintf("interimAnswers from 0 to %d (ledger reference)", maxInterim), interim},
	{"no page of a host whose Crawl-delay is longer than the max-crawl-delay-ms of the warcinfo record (politeness rule 7)", crawlDelay},
}

func headBody(h *evidence.Joined, _ *evidence.Info) string {
	if h.Exchange.Method != "HEAD" || h.Body == 0 {
		return ""
	}
	return fmt.Sprintf("%d bytes after its head", h.Body)
}

// whole are the outcomes of answers that the crawl read to their end, or left unread and says so.
var whole = []storage.Outcome{storage.OutcomeFetched, storage.OutcomeRedirected, storage.OutcomeGone}

func framing(h *evidence.Joined, _ *evidence.Info) string {
	if e := &h.Exchange; e.Cut != "" || !e.Whole || e.Revisit != "" || !slices.Contains(whole, e.Line.Outcome) {
		return ""
	}
	return h.Unframed
}

// lastModified compares the dates. The crawl takes none that lies after the answer, by a clock that may have been set
// since; a day is allowed for that.
func lastModified(h *evidence.Joined, _ *evidence.Info) string {
	e, told := &h.Exchange, h.Exchange.Line.Modified
	if e.Line.Decision != storage.DecisionAllow || e.Line.Status == 0 {
		return ""
	}
	var said time.Time
	if len(h.Answer.LastModified) == 1 {
		if at, ok := evidence.Date(h.Answer.LastModified[0]); ok && at.Year() >= 1990 {
			said = at
		}
	}
	if told.Equal(said) || told.IsZero() && said.After(e.Began.Add(-24*time.Hour)) {
		return ""
	}
	return fmt.Sprintf("Last-Modified: %q, and lastModified %s", h.Answer.LastModified, told.UTC().Format(time.RFC3339))
}

// directives compares those that stand by themselves in an X-Robots-Tag: a value with a colon may be for another robot.
// A page may have more of its own. What a 304 says is joined to what the earlier answer said.
func directives(h *evidence.Joined, _ *evidence.Info) string {
	l := h.Exchange.Line
	if l.Decision != storage.DecisionAllow || l.Status == 0 || l.Status == 304 || !slices.Contains(whole, l.Outcome) {
		return ""
	}
	for _, value := range h.Answer.RobotsTags {
		if strings.Contains(value, ":") {
			continue
		}
		for word := range strings.SplitSeq(strings.ToLower(value), ",") {
			for _, means := range meanings[strings.TrimSpace(word)] {
				if !asks(l.Directives, means) {
					return fmt.Sprintf("X-Robots-Tag: %s, and directives %q", value, l.Directives)
				}
			}
		}
	}
	return ""
}

// meanings are the directives that the crawl understands, and what it calls them.
var meanings = map[string][]string{
	"noindex": {"noindex"}, "nofollow": {"nofollow"}, "none": {"noindex", "nofollow"}, "noarchive": {"noarchive"}, "nocache": {"noarchive"},
}

// maxInterim is how many interim answers (1xx) come before the crawl gives up.
const maxInterim = 17

func interim(h *evidence.Joined, _ *evidence.Info) string {
	if n := h.Exchange.Line.Interim; n < 0 || n > maxInterim {
		return fmt.Sprint(n)
	}
	return ""
}

func crawlDelay(h *evidence.Joined, in *evidence.Info) string {
	l := h.Exchange.Line
	if in == nil || in.MaxDelay == 0 || l.Decision != storage.DecisionAllow || l.PaceBy != storage.ByCrawlDelay && l.PaceBy != storage.ByRequestRate ||
		l.Pace <= in.MaxDelay+time.Millisecond {
		return ""
	}
	return fmt.Sprintf("a delay of %v by %s, and max-crawl-delay-ms: %d", l.Pace, l.PaceBy, in.MaxDelay.Milliseconds())
}
