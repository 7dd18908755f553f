package fetch_test

import (
	"strings"
	"testing"

	"curtsy/crawler/fetch"
	"curtsy/storage/plainly"
)

func TestEachClassOfFailureHasPlainWords(t *testing.T) {
	t.Parallel()
	for _, class := range []fetch.Class{
		fetch.DNS, fetch.NXDomain, fetch.PrivateAddress, fetch.Connect, fetch.NoRoute, fetch.TLS, fetch.TLSIssuer, fetch.TLSName, fetch.TLSExpired, fetch.Timeout, fetch.Reset,
		fetch.Protocol, fetch.Incomplete, fetch.Coding, fetch.Stopped,
	} {
		name := string(class)
		w := plainly.Reason(name)
		if w == name || !strings.Contains(w, " ") {
			t.Errorf("%s: %q", name, w)
		}
		if plainly.Name(w) != name || plainly.Name(name) != name || plainly.Name("robots.txt: "+w) != "robots.txt: "+name {
			t.Errorf("%q does not lead back to %q", w, name)
		}
	}
}
