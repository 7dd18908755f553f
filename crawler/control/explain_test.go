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
	for _, order := range []any{struct{}{}, map[string]string{"url": "x"}, map[string]any{"url": u, "found": map[string]string{"Kind": "kin"}}} {
		if err := r.call(t.Context(), "/explain", order, &e); !BadOrder(err) {
			t.Errorf("%v: %v", order, err)
		}
	}
}
