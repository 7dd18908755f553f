package webbotauth

import (
	"fmt"
	"strings"

	"curtsy/frontier/canon"
)

// WellKnown is where a key directory is published, unless an Agent says otherwise.
const WellKnown = "/.well-known/http-message-signatures-directory"

// maxAgent is the longest URL of an agent, in bytes: it goes with each request.
const maxAgent = 256

// Agent is where a crawler publishes its keys. The URL, not the key, is what sites know the crawler by.
type Agent struct{ directory canon.URL }

// ParseAgent reads the URL of a key directory. An origin stands for the directory at its well-known path.
func ParseAgent(text string) (Agent, error) {
	u, err := canon.Parse(text)
	if err != nil {
		return Agent{}, fmt.Errorf("signature agent %q: %w", text, err)
	}
	origin := "https://" + u.Authority().HostPort()
	path, ok := strings.CutPrefix(u.String(), origin)
	switch {
	case !ok:
		return Agent{}, fmt.Errorf("signature agent %q: keys are published over https", text)
	case len(u.String()) > maxAgent:
		return Agent{}, fmt.Errorf("signature agent: over %d bytes, and it goes with each request", maxAgent)
	case strings.ContainsAny(text, "?#@"):
		return Agent{}, fmt.Errorf("signature agent %q: write it without user, query and fragment", text)
	case path == "/":
		u, err = canon.Parse(origin + WellKnown)
	}
	return Agent{u}, err
}

// URL is that of the key directory.
func (a Agent) URL() string { return a.directory.String() }

// authority is whom the key directory is asked of (RFC 9421 2.2.3).
func (a Agent) authority() string { return a.directory.Authority().HostPort() }

// value is what the field Signature-Agent says, a structured string: a URL has no octet that must be escaped in it.
func (a Agent) value(r rules) (string, error) {
	if r.whole {
		return `"` + a.URL() + `"`, nil
	}
	origin := "https://" + a.authority()
	if a.URL() != origin+WellKnown {
		return "", fmt.Errorf("signature agent %s: by draft %s keys are published at %s%s, nowhere else", a.URL(), r.draft,
			origin, WellKnown)
	}
	return `"` + origin + `"`, nil
}
