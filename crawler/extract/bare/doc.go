// Package bare is the loop that the crawler's cost is measured against: net/http, goquery and net/url, and nothing
// else. It fetches pages, finds the links in them, resolves these, and goes on with those it has not seen. It asks for
// no robots.txt, keeps no pace, keeps nothing, recovers from nothing and is bound to the hosts that it begins at.
//
// Connections are kept, as many at a host as workers can use at once, and capped where there are many hosts: the links
// of one page would have it open 20 at each of 200 hosts, whose buffers and stacks cost it more than all parsing does.
//
// It is there for curtsy bench. Never run it against a host that is not your own.
package bare
