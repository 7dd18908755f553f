package report

import (
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/plainly"
)

// duration writes milliseconds for people, cut rather than rounded up.
func duration(ms float64) string {
	trim := func(f float64, digits int) string {
		scale := 1.0
		for range digits {
			scale *= 10
		}
		s := strconv.FormatFloat(float64(int64(f*scale+1e-6))/scale, 'f', digits, 64)
		if strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		return s
	}
	switch {
	case ms < 0:
		return "−" + duration(-ms)
	case ms == 0:
		return "0"
	case ms < 1000:
		return trim(ms, 1) + " ms"
	case ms < 120_000:
		return trim(ms/1000, 3) + " s"
	case ms < 2*3600_000:
		return trim(ms/60_000, 1) + " min"
	case ms < 48*3600_000:
		return trim(ms/3600_000, 1) + " h"
	}
	return trim(ms/86400_000, 1) + " days"
}

// measured writes milliseconds that were measured, cut to the millisecond.
func measured(ms float64) string {
	if ms < 1000 || ms >= 120_000 {
		return duration(ms)
	}
	return strconv.FormatFloat(float64(int64(ms+1e-6))/1000, 'f', 3, 64) + " s"
}

// site is an authority as people write it: without the port that its scheme has anyway.
func site(authority string) string {
	for scheme, port := range map[string]string{"http://": ":80", "https://": ":443"} {
		if strings.HasPrefix(authority, scheme) {
			return strings.TrimSuffix(authority, port)
		}
	}
	return authority
}

func plural(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return plainly.Grouped(n) + " " + thing + "s"
}

func addresses(n int64) string {
	if n == 1 {
		return "1 address"
	}
	return plainly.Grouped(n) + " addresses"
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// moment is an instant as the archive or the ledger has written it; what is none stays as it is.
func moment(s string) string {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return instant(t)
	}
	return s
}

// meanings say in plain words what stands behind the words of a ledger.
var meanings = map[string]string{
	"disallow: disallow rule":           "robots.txt forbids it",
	"disallow: unreachable":             "robots.txt could not be had, and then nothing may be asked for",
	"disallow: restricted":              "robots.txt itself is forbidden, and by the chosen standard all else is, too",
	"opt-out: opt-out":                  "an opt-out list names the host, the address or the path: nothing at all is asked",
	"gone: named by script: status 404": "a word in a script looked like a file, and is none",
	"gone: named by script: status 410": "a word in a script looked like a file, and is none",
	"refuse: script: refusals in a row": "a word in a script looked like a file, and the site was refusing what it was asked for",
	"gone: status 404":                  "the server says that there is no such page",
	"gone: status 410":                  "the server says that the page is gone for good",
	"dropped: too large":                "it is larger than the limit that the operator set",
	"dropped: too slow":                 "it took longer than an exchange may",
	"failed: quarantined":               "the crawler died more than once while it worked on this alone",
	"failed: redirect loop":             "it leads back to itself",
	"refuse: trap:repeat":               "the same part again and again in its path: as of a trap for crawlers",
	"refuse: trap:cycle":                "parts that repeat in its path: as of a trap for crawlers",
	"refuse: trap:segments":             "more parts in its path than real pages have",
	"refuse: trap:length":               "longer than real addresses are",
	"refuse: trap:percent":              "an escape that grows with each link",
	"refuse: trap:depth":                "too many links from where the crawl began",
	"hold: trap:queries":                "very many queries at one path that brought nothing new; held until the operator frees them",
	"hold: trap:template":               "very many addresses of one shape that brought nothing new; held until the operator frees them",
	"status 429":                        "the server asked to be left alone for a while, and was",
	"status 503":                        "the server was out of order or busy, and was left alone for a while",
	"status 401":                        "the server asks for a login",
	"status 403":                        "the server refuses",
	"status 451":                        "the server refuses for legal reasons",
	"scope:host":                        "on none of the hosts that were to be crawled",
	"scope:domain":                      "in none of the domains that were to be crawled",
	"scope:prefix":                      "outside the parts of sites that were to be crawled",
	"scope:seeds":                       "only the seeds were to be crawled",
	"scope:include":                     "the operator's patterns do not include it",
	"scope:exclude":                     "the operator's patterns exclude it",
	"scope:host-include":                "the operator's patterns for the host do not include it",
	"scope:host-exclude":                "the operator's patterns for the host exclude it",
	"scope:accept":                      "of a kind that the operator does not want",
	"scope:reject":                      "of a kind that the operator does not want",
	"scope:depth":                       "too many links from where the crawl began",
	"scope:nofollow":                    "the page asks not to follow its links",
	"scope:requisites":                  "images, styles and scripts that were not wanted, or lie too far off the scope",
	"scope:script":                      "a script names it, and it lies off the scope",
	"scope:sitemap":                     "sitemaps were not to be read",
	"sitemap:too many maps":             "more sitemaps of one host than are read",
	"refuse: scheme":                    "no web address",
	"trap:copy":                         "the page equals the one that leads to it: it is kept, its links are not followed",
	"trap:queries":                      "very many queries at one path that brought nothing new",
	"trap:template":                     "very many addresses of one shape that brought nothing new",
	"trap:redirect-chain":               "more redirects in a row than are followed",
	"budget: max-per-host":              "the operator's limit of pages for one host is reached",
	"budget: max-per-domain":            "the operator's limit of pages for one registrable domain is reached",
	"budget: max-per-tag":               "the operator's limit of pages for one tag of seeds is reached",
	"budget: per-host-per-day":          "the operator's limit of requests to one host in a day is reached",
	"hours: it is not asked now":        "the operator's hours for the host are over",
	"scope:sample":                      "not drawn: only a sample was to be crawled",
	"length":                            "cut at the limit of size",
	"time":                              "cut at the limit of time",
	"disconnect":                        "the connection ended early",
	"unspecified":                       "left out because the page asks not to be archived, or for another reason",
	"noindex":                           "kept, and marked",
	"nofollow":                          "its links are not followed",
	"noarchive":                         "its body is not archived",
}

// kinds say the same of a decision whatever its reason.
var kinds = map[string]string{
	string(storage.DecisionRefuse):    "the crawl's scope or one of its limits leaves it out",
	string(storage.DecisionHold):      "held until the operator frees it",
	string(storage.OutcomeFailed):     "no usable answer",
	string(storage.OutcomeDropped):    "left by a limit or a wish of the operator",
	string(storage.OutcomeGone):       "the server says that it is not there",
	string(storage.DecisionDisallow):  "robots.txt forbids it",
	string(storage.OutcomeDisallowed): "robots.txt forbids it",
	string(storage.DecisionOptOut):    "an opt-out list names it: nothing at all is asked",
}

// meaning explains a name of a count; "" where it says enough by itself.
func meaning(name string) string {
	if m := meanings[name]; m != "" {
		return m
	}
	if m := meanings["refuse: "+name]; m != "" {
		return m
	}
	kind, rest, _ := strings.Cut(name, ": ")
	for _, reason := range []string{name, rest} {
		if m := plainly.Reason(reason); m != reason {
			return m
		}
	}
	if m := meanings[rest]; m != "" {
		return m
	}
	return kinds[kind]
}

// notSaid stands for the word that a ledger lacks.
const notSaid = "not said"

// paceWords say who asked for a pause.
var paceWords = map[storage.PaceBy]string{
	storage.ByFloor:        "the least that curtsy keeps with any host",
	storage.ByHostSetting:  "the operator's setting for the host",
	storage.ByOperator:     "the operator, while the run went on",
	storage.ByCrawlDelay:   "Crawl-delay in robots.txt",
	storage.ByRequestRate:  "Request-rate in robots.txt",
	storage.ByResponseTime: "five times the host's own time to answer",
	storage.ByRetryAfter:   "Retry-After of an answer",
	storage.ByErrors:       "a rest after errors",
	storage.ByAddress:      "other hosts at the same address",
	storage.ByRateLimit:    "RateLimit of an answer",
	storage.ByRobots:       "robots.txt could not be had, and was asked for again",
	notSaid:                "the ledger does not say who asked for it",
}

func paceWord(by string) string {
	if w := paceWords[storage.PaceBy(by)]; w != "" {
		return w
	}
	return by
}
