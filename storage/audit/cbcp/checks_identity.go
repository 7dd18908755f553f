package cbcp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/plainly"
)

// maxNamed is how many User-Agents a text names.
const maxNamed = 3

// sent are the User-Agents that were sent, in their order.
func (f *facts) sent() []string { return slices.Sorted(maps.Keys(f.agents)) }

func (f *facts) sentText() string {
	all := f.sent()
	text := strings.Join(all[:min(len(all), maxNamed)], " | ")
	if len(all) > maxNamed {
		text += fmt.Sprintf(" and %d more", len(all)-maxNamed)
	}
	return finding.Short(text)
}

// wrong are the User-Agents that why has something against, and how many requests they were sent with.
func (f *facts) wrong(why func(agent string) string) (n int64, examples []Example) {
	for _, name := range f.sent() {
		if s := why(name); s != "" {
			a := f.agents[name]
			n += a.n
			e := a.first
			e.Observed += ": " + s
			add(&examples, e)
		}
	}
	return n, examples
}

const noRequests = "the archive has no request records, so nobody can say what was sent"

func checkIdentifiable(f *facts, r *audit.Result) finds {
	if n, first := violations(r, finding.UserAgent); n > 0 {
		return broken(plainly.Count(n, "request")+" or warcinfo records do not say who asks", first...)
	}
	if f.requests == 0 {
		return unprovable(noRequests)
	}
	return kept(plainly.Count(f.requests, "request") + " with " + f.sentText())
}

func checkUnique(f *facts, _ *audit.Result) finds {
	if f.requests == 0 {
		return unprovable(noRequests)
	}
	n, examples := f.wrong(anonymous)
	if n += f.agentless; n > 0 {
		said := plainly.Count(n, "request") + " could be of another crawler"
		if f.agentless > 0 {
			said += fmt.Sprintf("; %d without a User-Agent", f.agentless)
		}
		return broken(said, examples...)
	}
	var names []string
	for _, a := range f.sent() {
		names = appendNew(names, tokenOf(a))
	}
	return kept(plainly.Count(f.requests, "request") + " as " +
		finding.Short(strings.Join(names[:min(len(names), maxNamed)], ", ")))
}

func checkDescription(f *facts, _ *audit.Result) finds {
	if len(f.agents) == 0 {
		return unprovable("no User-Agent was archived")
	}
	n, examples := f.wrong(func(agent string) string {
		if urlIn(agent) == "" {
			return "there is no URL in it"
		}
		return ""
	})
	if n > 0 {
		return broken(plainly.Count(n, "request")+" without a URL in the User-Agent", examples...)
	}
	return kept("each User-Agent leads to " + strings.Join(f.pages(), ", "))
}

// pages are the URLs in User-Agents, a few.
func (f *facts) pages() (all []string) {
	for _, a := range f.sent() {
		if u := finding.Short(urlIn(a)); u != "" && !slices.Contains(all, u) && len(all) < maxNamed {
			all = append(all, u)
		}
	}
	return all
}

func checkOwner(f *facts, _ *audit.Result) finds {
	if len(f.agents) == 0 {
		return unprovable("no User-Agent was archived")
	}
	return unprovable("people must judge whether these names tell owner and purpose: " + f.sentText())
}

func checkHTTPS(f *facts, _ *audit.Result) finds {
	if len(f.pages()) == 0 {
		return unprovable("no User-Agent has a URL")
	}
	n, examples := f.wrong(func(agent string) string {
		if strings.HasPrefix(strings.ToLower(urlIn(agent)), "http:") {
			return "its page is not served by https"
		}
		return ""
	})
	if n > 0 {
		return broken(plainly.Count(n, "request")+" that lead to a page by http", examples...)
	}
	return kept("the URLs in User-Agents have https; where they redirect to is not known")
}
