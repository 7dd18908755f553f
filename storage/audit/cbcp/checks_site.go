package cbcp

import (
	"fmt"
	"strings"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/plainly"
)

func checkRobots(_ *facts, r *audit.Result) finds {
	codes := []finding.Code{finding.RobotsMissing, finding.RobotsExpired, finding.RobotsUnreachable, finding.Disallowed}
	if n, first := violations(r, codes...); n > 0 {
		return broken(plainly.Count(n, "exchange")+" against robots.txt", first...)
	}
	if n, why := doubts(r, codes...); n > 0 {
		return unprovable(plainly.Count(n, "exchange") + " cannot be judged; " + why)
	}
	if r.Totals.Judged == 0 {
		return unprovable("no page was asked for that a robots.txt could be held against")
	}
	return kept(fmt.Sprintf("%s recomputed from %s for robots.txt; %s avoided that it forbids",
		plainly.Count(r.Totals.Judged, "verdict"), plainly.Count(r.Totals.Robots, "exchange"),
		plainly.Count(r.Totals.Disallowed, "URL")))
}

func checkTags(f *facts, _ *audit.Result) finds {
	switch n := len(f.keptBodies) + len(f.followed); {
	case n > 0:
		return broken("X-Robots-Tag was not heeded", append(f.keptBodies, f.followed...)[:min(n, maxExamples)]...)
	case f.tagged == 0:
		return unprovable("no answer has an X-Robots-Tag for this crawler")
	case f.depths == 0:
		return unprovable(plainly.Count(f.tagged, "answer") + " with X-Robots-Tag: no body is kept that must not be, and " +
			"which page led to a URL is not said")
	}
	return kept(plainly.Count(f.tagged, "answer") +
		" with X-Robots-Tag: no body is kept and no link followed that must not be")
}

func checkBackOut(f *facts, r *audit.Result) finds {
	n, first := violations(r, finding.RetryAfter)
	if n > 0 || len(f.pressed) > 0 {
		return broken("the crawl went on though the server failed or asked for rest",
			append(first, f.pressed...)[:min(len(first)+len(f.pressed), maxExamples)]...)
	}
	if f.failures == 0 {
		return unprovable("no answer was 429 or 5xx")
	}
	if n, why := doubts(r, finding.RetryAfter); n > 0 {
		return unprovable(plainly.Count(n, "rest") + " cannot be judged; " + why)
	}
	return kept(fmt.Sprintf("%s of 429 or 5xx; each Retry-After was obeyed, and no %d came in a row without a longer "+
		"pause", plainly.Count(f.failures, "answer"), streakMin))
}

func checkResponseTime(f *facts, _ *audit.Result) finds {
	if f.byResponse == 0 {
		return unprovable("no pause is said to follow from the response time")
	}
	return kept(plainly.Count(f.byResponse, "pause") + " that the response time decided")
}

func checkLog(f *facts, r *audit.Result) finds {
	codes := []finding.Code{finding.LedgerMissing, finding.LedgerExtra, finding.LedgerDiffers}
	if n, first := violations(r, codes...); n > 0 {
		return broken("ledger and archive differ "+plainly.Count(n, "time"), first...)
	}
	switch l := r.Ledger; {
	case f.exchanges == 0:
		return unprovable("the archive has no exchange")
	case l != nil:
		return kept(fmt.Sprintf("%s of the ledger agree with %s", plainly.Count(l.Lines, "line"),
			plainly.Count(f.exchanges, "archived exchange")))
	case f.requests < f.exchanges:
		return unprovable(fmt.Sprintf("%d of %s have no request record, and there is no ledger", f.exchanges-f.requests,
			plainly.Count(f.exchanges, "exchange")))
	}
	return kept(fmt.Sprintf("%s archived with URL and request, %d with status", plainly.Count(f.exchanges, "exchange"),
		f.answered))
}

func checkHours(f *facts, _ *audit.Result) finds {
	var hours []string
	for h, n := range f.hours {
		if n > 0 {
			hours = append(hours, fmt.Sprintf("%02d h: %d", h, n))
		}
	}
	if len(hours) == 0 {
		return unprovable("the archive has no exchange")
	}
	return unprovable("an archive does not tell when a site has few visitors; exchanges by hour, UTC: " +
		strings.Join(hours, ", "))
}

func checkInFlight(f *facts, r *audit.Result) finds {
	if n, first := violations(r, finding.InFlight); n > 0 {
		return broken(plainly.Count(n, "exchange")+" began while another with the host was under way", first...)
	}
	if n, why := doubts(r, finding.InFlight); n > 0 {
		return unprovable(plainly.Count(n, "exchange") + " cannot be judged; " + why)
	}
	for _, h := range r.Hosts {
		if h.StartToStart {
			return unprovable("the archive does not say when exchanges ended, as with " + h.Authority)
		}
	}
	if r.Totals.Gaps == 0 {
		return unprovable("no host was asked twice")
	}
	return kept("one exchange at a time with each of " + plainly.Count(int64(len(f.servers)), "host"))
}

func checkSpeed(_ *facts, r *audit.Result) finds {
	codes := []finding.Code{finding.Gap, finding.AddressPace}
	if n, first := violations(r, codes...); n > 0 {
		return broken(plainly.Count(n, "pause")+" too short", first...)
	}
	if n, why := doubts(r, codes...); n > 0 {
		return unprovable(plainly.Count(n, "pause") + " cannot be judged; " + why)
	}
	least, where, limited := 0.0, "", false
	for _, h := range r.Hosts {
		limited = limited || h.Required > 0 && h.Gaps > 0
		if h.Gaps > 0 && (where == "" || h.MinGap < least) {
			least, where = h.MinGap, h.Authority
		}
	}
	switch {
	case where == "":
		return unprovable("no host was asked twice")
	case !limited:
		return unprovable(fmt.Sprintf("no site set a limit, and the draft names none; the shortest pause was %.3f s (%s)",
			least, where))
	}
	return kept(fmt.Sprintf("%s measured, none shorter than due; the shortest was %.3f s (%s)",
		plainly.Count(r.Totals.Gaps, "pause"), least, where))
}

func checkAgain(f *facts, _ *audit.Result) finds {
	switch {
	case len(f.soon) > 0:
		return broken(fmt.Sprintf("URLs with a usable answer were asked for more than %d times in the day behind it",
			oftenMax), f.soon...)
	case len(f.visits) == 0:
		return unprovable("no URL but robots.txt was asked for")
	}
	return kept(fmt.Sprintf("%s, %s with one that had a usable answer before%s",
		plainly.Count(int64(len(f.visits)), "URL"), plainly.Count(f.again, "exchange"), f.bound()))
}

// bound says that not all URLs were followed, if that is so.
func (f *facts) bound() string {
	if f.lost == 0 {
		return ""
	}
	return fmt.Sprintf("; of the first %d URLs, with %s beyond", maxURLs, plainly.Count(f.lost, "exchange"))
}

func checkLoops(f *facts, _ *audit.Result) finds {
	if f.mostN > loopMax {
		return broken(fmt.Sprintf("a URL was asked for %d times", f.mostN), f.most)
	}
	if len(f.visits) == 0 {
		return unprovable("no URL but robots.txt was asked for")
	}
	depth := "the depth is not said"
	if f.depths > 0 {
		depth = plainly.Count(int64(f.deepest), "link") + " deep at most"
	}
	return kept(fmt.Sprintf("no URL was asked for more than %s; %s%s", plainly.Count(int64(f.mostN), "time"), depth,
		f.bound()))
}

func checkAccess(f *facts, _ *audit.Result) finds {
	switch {
	case f.nSecret > 0:
		return broken(plainly.Count(f.nSecret, "request")+" with credentials", f.secrets...)
	case f.requests == 0:
		return unprovable(noRequests)
	case f.cookies > 0:
		return unprovable(plainly.Count(f.cookies, "request") + " with cookies: an archive does not tell what they open")
	}
	return kept(plainly.Count(f.requests, "request") + " without credentials and cookies")
}

func checkMethod(f *facts, r *audit.Result) finds {
	if n, first := violations(r, finding.Method); n > 0 {
		return broken(plainly.Count(n, "request")+" by another method", first...)
	}
	if f.requests == 0 {
		return unprovable(noRequests)
	}
	return kept(plainly.Count(f.requests, "request") + " by GET or HEAD")
}

func checkCaching(f *facts, _ *audit.Result) finds {
	switch {
	case f.nWasted > 0:
		return broken(fmt.Sprintf("%s that a cache would have spared or made conditional, of %d repeated",
			plainly.Count(f.nWasted, "request"), f.repeats), f.wasted...)
	case f.requests == 0:
		return unprovable(noRequests)
	case len(f.visits) == 0:
		return unprovable("no URL but robots.txt was asked for")
	case f.repeats == 0:
		return kept("no URL was asked for again that had an answer which could be stored")
	}
	return kept(fmt.Sprintf("%s for URLs with a stored answer, %d of them conditional; no other had a fresh one or a "+
		"validator", plainly.Count(f.repeats, "request"), f.conditional))
}
