package control

import (
	"context"
	"net/http"
	"runtime/metrics"

	"curtsy/crawler/status"
	"curtsy/frontier/canon"
)

// look answers GET /look.
func (s *server) look(r *http.Request) (any, error) {
	var l status.Look
	var err error
	if l.Status, err = s.crawl.Status(r.Context()); err != nil {
		return nil, err
	}
	live := s.crawl.Live()
	if l.Estimate, err = live.Estimate(r.Context()); err != nil {
		return nil, err
	}
	l.Memory, l.Workers = memory(), live.Workers()
	l.Waits, err = live.Waits(r.Context(), l.Status.LimitedByIP)
	return l, err
}

// memory is how much memory this process has of the system.
func memory() int64 {
	all := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(all)
	return int64(all[0].Value.Uint64() - all[1].Value.Uint64())
}

// Look has the crawl say how it is, how long the rest takes, and what its hosts wait for. It may be asked for often.
func (r *Remote) Look(ctx context.Context) (l status.Look, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	err = r.call(ctx, http.MethodGet, "/look", nil, &l)
	return l, err
}

// Hosts returns a page of the table of hosts, as status.Live does.
func (r *Remote) Hosts(ctx context.Context, q status.Query) (p status.Page, err error) {
	err = r.call(ctx, http.MethodPost, "/hosts", q, &p)
	return p, err
}

// wantedOne is a host by its authority.
type wantedOne struct {
	Authority canon.Authority `json:"authority"`
}

// Host returns what there is to say of one host.
func (r *Remote) Host(ctx context.Context, a canon.Authority) (o status.One, err error) {
	err = r.call(ctx, http.MethodPost, "/host", wantedOne{a}, &o)
	return o, err
}

// pausing is an order to pause, or to go on.
type pausing struct {
	On bool `json:"on"`
}

// Pause has the crawl begin no exchange until Pause(false).
func (r *Remote) Pause(ctx context.Context, on bool) error {
	return r.call(ctx, http.MethodPost, "/pause", pausing{on}, &pausing{})
}

// Drain has the crawl end: the exchanges under way may finish, and what is left stays for resume.
func (r *Remote) Drain(ctx context.Context) error {
	return r.call(ctx, http.MethodPost, "/drain", struct{}{}, &struct{}{})
}
