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
	"disallow: unreachable":             "robots.txt was unavailable, so nothing may be requested",
	"disallow: restricted":              "robots.txt itself is forbidden, and by the chosen standard everything else with it",
	"opt-out: opt-out":                  "an opt-out list names the host, the address or the path: no requests at all",
	"gone: named by script: status 404": "a word in a script looked like a file, but is not one",
	"gone: named by script: status 410": "a word in a script looked like a file, but is not one",
	"refuse: script: refusals in a row": "a word in a script looked like a file, and the site was refusing requests",
	"gone: status 404":                  "the server reports that the page does not exist",
	"gone: status 410":                  "the server reports that the page is permanently gone",
	"dropped: too large":                "it is larger than the limit that the operator set",
	"dropped: too slow":                 "it took longer than a request may",
	"failed: quarantined":               "the crawler died more than once while it processed only this",
	"failed: redirect loop":             "it leads back to itself",
	"refuse: trap:repeat":               "the same segment repeated in its path, as in a crawler trap",
	"refuse: trap:cycle":                "segments that repeat in its path, as in a crawler trap",
	"refuse: trap:segments":             "more path segments than real pages have",
	"refuse: trap:length":               "longer than real addresses are",
	"refuse: trap:percent":              "an escape that grows with each link",
	"refuse: trap:depth":                "too many links from the seeds",
	"hold: trap:queries":                "very many queries of one path without new content; held until the operator releases them",
	"hold: trap:template":               "very many addresses of one pattern without new content; held until the operator releases them",
	"status 429":                        "the server requested a break, and the crawl backed off",
	"status 503":                        "the server was broken or busy, and the crawl backed off",
	"status 401":                        "the server requires a login",
	"status 403":                        "the server refuses",
	"status 451":                        "the server refuses for legal reasons",
	"scope:host":                        "not on one of the hosts to crawl",
	"scope:domain":                      "not in one of the domains to crawl",
	"scope:prefix":                      "outside the parts of sites to crawl",
	"scope:seeds":                       "only the seeds were to be crawled",
	"scope:include":                     "the operator's patterns do not include it",
	"scope:exclude":                     "the operator's patterns exclude it",
	"scope:host-include":                "the operator's patterns for the host do not include it",
	"scope:host-exclude":                "the operator's patterns for the host exclude it",
	"scope:accept":                      "a media type that the operator excludes",
	"scope:reject":                      "a media type that the operator excludes",
	"scope:depth":                       "too many links from the seeds",
	"scope:nofollow":                    "the page disallows following its links",
	"scope:requisites":                  "images, styles and scripts that are not wanted, or are too far outside the scope",
	"scope:script":                      "a script names it, and it is outside the scope",
	"scope:sitemap":                     "sitemaps were not to be read",
	"sitemap:too many maps":             "more sitemaps of one host than are read",
	"refuse: scheme":                    "not a web address",
	"trap:copy":                         "the page equals the one that links to it: it is kept, but its links are not followed",
	"trap:queries":                      "very many queries of one path without new content",
	"trap:template":                     "very many addresses of one pattern without new content",
	"trap:redirect-chain":               "more redirects in a row than are followed",
	"budget: max-per-host":              "the operator's limit of pages for one host is reached",
	"budget: max-per-domain":            "the operator's limit of pages for one registrable domain is reached",
	"budget: max-per-tag":               "the operator's limit of pages for one tag of seeds is reached",
	"budget: per-host-per-day":          "the operator's limit of requests to one host in a day is reached",
	"hours: closed now":                 "the operator's hours for the host are over",
	"scope:sample":                      "not drawn: only a sample was to be crawled",
	"length":                            "cut at the limit of size",
	"time":                              "cut at the limit of time",
	"disconnect":                        "the connection ended early",
	"unspecified":                       "left out because of a noarchive directive, or for another reason",
	"noindex":                           "kept, and marked",
	"nofollow":                          "its links are not followed",
	"noarchive":                         "its body is not archived",
}

// kinds say the same of a decision whatever its reason.
var kinds = map[string]string{
	string(storage.DecisionRefuse):    "the crawl's scope or one of its limits leaves it out",
	string(storage.DecisionHold):      "held until the operator releases it",
	string(storage.OutcomeFailed):     "no usable response",
	string(storage.OutcomeDropped):    "left out by a limit or the operator",
	string(storage.OutcomeGone):       "the server reports that it does not exist",
	string(storage.DecisionDisallow):  "robots.txt forbids it",
	string(storage.OutcomeDisallowed): "robots.txt forbids it",
	string(storage.DecisionOptOut):    "an opt-out list names it: no requests at all",
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
const notSaid = "not recorded"

// paceWords say who asked for a pause.
var paceWords = map[storage.PaceBy]string{
	storage.ByFloor:        "curtsy's minimum for any host",
	storage.ByHostSetting:  "the operator's setting for the host",
	storage.ByOperator:     "the operator, during the run",
	storage.ByCrawlDelay:   "Crawl-delay in robots.txt",
	storage.ByRequestRate:  "Request-rate in robots.txt",
	storage.ByResponseTime: "five times the host's response time",
	storage.ByRetryAfter:   "Retry-After of a response",
	storage.ByErrors:       "back-off after errors",
	storage.ByAddress:      "other hosts at the same address",
	storage.ByRateLimit:    "RateLimit of a response",
	storage.ByRobots:       "robots.txt was unavailable, and was requested again",
	notSaid:                "the ledger does not record the source",
}

func paceWord(by string) string {
	if w := paceWords[storage.PaceBy(by)]; w != "" {
		return w
	}
	return by
}
