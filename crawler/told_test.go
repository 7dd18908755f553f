package crawler

import (
	"slices"
	"testing"

	"curtsy/crawler/fetch"
	"curtsy/crawler/record"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/model"
)

// What an operator takes out of a running crawl has its lines, in the archive as in the ledger, before the command is answered.
func TestWhatIsDroppedIsToldOfARunningCrawl(t *testing.T) {
	a, l := &archive{}, &lines{}
	front := model.New(frontier.Options{Barrier: record.Barrier(a, l), Tell: record.Closed(a, l)})
	defer front.Close()
	f, err := fetch.New(fetch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var us []canon.URL
	for _, s := range []string{"http://a.test/1", "http://a.test/2", "http://a.test/3", "http://a.test/4", "http://a.test/5"} {
		u := parse(t, s)
		us = append(us, u)
		if _, err := front.Add(t.Context(), []frontier.Candidate{{URL: u, Kind: frontier.KindSeed, Seed: s}}); err != nil {
			t.Fatal(err)
		}
	}
	c, err := New(t.Context(), Config{Frontier: front, Fetcher: f, Recorder: a, Ledger: l})
	if err != nil {
		t.Fatal(err)
	}
	host := us[0].Authority()
	for _, one := range []struct {
		order frontier.Steering
		want  []string
		count int64
	}{
		{frontier.Steering{Act: frontier.Park, Authority: host}, nil, 0},
		{frontier.Steering{Act: frontier.Drop, Authority: host, URLs: us[:2]}, []string{"http://a.test/1", "http://a.test/2"}, 0},
		{frontier.Steering{Act: frontier.Drop, Authority: host, URLs: us[:2]}, nil, 0},
		{frontier.Steering{Act: frontier.Drop, Authority: host, URLs: us[1:3]}, []string{"http://a.test/3"}, 0},
		{frontier.Steering{Act: frontier.Drop, Authority: host}, []string{"http://a.test/"}, 2},
		{frontier.Steering{Act: frontier.Drop, Authority: host}, nil, 0},
	} {
		l.all, a.refused = nil, nil
		if _, err := c.Steer(t.Context(), one.order); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range l.all {
			got = append(got, line.URL)
			if line.Count != one.count || line.Reason != frontier.ReasonOperator || line.Time.IsZero() {
				t.Errorf("%+v", line)
			}
		}
		if !slices.Equal(got, one.want) || !slices.Equal(l.all, a.refused) {
			t.Errorf("%+v: lines of %q, want %q; %d in the archive", one.order, got, one.want, len(a.refused))
		}
	}
}
