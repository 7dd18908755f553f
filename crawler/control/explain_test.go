package control

import (
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/crawler/explain"
	"curtsy/frontier"
)

func TestTheControlInterfaceExplains(t *testing.T) {
	dir, _ := served(t)
	r, err := Connect(t.Context(), dir)
	require.NoError(t, err)
	u := parse(t, "http://a.test/x")
	e, err := r.Explain(t.Context(), explain.Question{URL: u, Written: "http://A.test/x"})
	if err != nil || e.Answer.Word != explain.AnswerUnknown || e.URL.Written != "http://A.test/x" || !e.State.Assumed || e.Crawl != "running" {
		t.Errorf("%+v, %v", e, err)
	}
	found := frontier.Candidate{URL: u, Kind: frontier.KindEmbed, Via: "http://a.test/", Depth: 4, Embeds: 1, Seed: "http://a.test/", Tag: "t"}
	e, err = r.Explain(t.Context(), explain.Question{URL: u, Found: found})
	if s := e.State; err != nil || s.Assumed || s.Kind != "embed" || s.Via != found.Via || s.Depth != 4 || s.Embeds != 1 || s.Seed != found.Seed || s.Tag != "t" {
		t.Errorf("%+v, %v", e.State, err)
	}
	for _, path := range []string{"/explain", "/explain?url=x", "/explain?url=http://a.test/&kind=kin", "/explain?url=http://a.test/&kind=link&depth=-1"} {
		if err := r.call(t.Context(), "GET", path, nil, &e); !BadOrder(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
