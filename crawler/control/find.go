package control

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// ParseHost reads what a person calls a host: "name", "name:port" or "scheme://name", with a slash behind it or not.
// exact says that it can mean one authority only.
func ParseHost(name string) (a canon.Authority, exact bool, err error) {
	text, schemed := name, strings.Contains(name, "://")
	if !schemed {
		text = "http://" + name
	}
	a, err = canon.ParseAuthority(strings.TrimSuffix(text, "/"))
	return a, schemed, err
}

// Find returns the authorities that a crawl knows by what a person calls a host: a name or address with any scheme and
// port, or with those that are given. It may look at all hosts.
func Find(ctx context.Context, f frontier.Reader, name string) ([]canon.Authority, error) {
	wanted, exact, err := ParseHost(name)
	if err != nil {
		return nil, badOrder{fmt.Errorf("host %s: %w", name, err)}
	}
	found := []canon.Authority{}
	if exact {
		if _, ok, err := f.Host(ctx, wanted); err != nil || !ok {
			return found, err
		}
		return append(found, wanted), nil
	}
	_, _, err = net.SplitHostPort(strings.TrimSuffix(name, "/"))
	ported := err == nil
	err = status.EachHost(ctx, f, 0, func(h frontier.Host) bool {
		a := h.Authority
		if a.Host() == wanted.Host() && (!ported || a.Port() == wanted.Port()) {
			found = append(found, a)
		}
		return true
	})
	return found, err
}

// maxNamed is how many names of hosts an answer has at most.
const maxNamed = 1000

// Names asks for hosts by how their names begin.
type Names struct {
	Beginning string `json:"beginning"`
	Origins   bool   `json:"origins,omitempty"` // names are "scheme://name", not "name", with the port if it is not the usual one
	Most      int    `json:"most"`
}

// Named returns names of hosts, in their order; those that were found when ctx ends. It may look at all hosts.
func Named(ctx context.Context, f frontier.Reader, n Names) ([]string, error) {
	write := canon.Authority.HostPort
	if n.Origins {
		write = canon.Authority.Origin
	}
	found := []string{}
	err := status.EachHost(ctx, f, 0, func(h frontier.Host) bool {
		name := write(h.Authority)
		if strings.HasPrefix(name, n.Beginning) && !slices.Contains(found, name) {
			found = append(found, name)
		}
		return len(found) < n.Most
	})
	if ctx.Err() != nil {
		err = nil
	}
	slices.Sort(found)
	return found, err
}
