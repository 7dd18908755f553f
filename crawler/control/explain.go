package control

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"curtsy/crawler/explain"
	"curtsy/crawler/found"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// The parameters of GET /explain.
const (
	paramURL     = "url"
	paramWritten = "written"
	paramKind    = "kind"
	paramVia     = "via"
	paramDepth   = "depth"
	paramSeed    = "seed"
	paramTag     = "tag"
)

// explain answers GET /explain.
func (s *server) explain(r *http.Request) (any, error) {
	p := r.URL.Query()
	u, err := canon.Parse(p.Get(paramURL))
	if err != nil {
		return nil, badOrder{fmt.Errorf("crawler: explain: %w", err)}
	}
	q := explain.Question{URL: u, Written: p.Get(paramWritten)}
	if kind := storage.Kind(p.Get(paramKind)); kind != "" {
		depth, err := strconv.ParseUint(p.Get(paramDepth), 10, 31)
		if err != nil || found.Kind(kind) == 0 {
			return nil, badOrder{fmt.Errorf("crawler: explain: kind %q at depth %q: not a valid kind or depth", kind, p.Get(paramDepth))}
		}
		q.Found = found.As(u, storage.Line{Kind: kind, Via: p.Get(paramVia), Depth: int(depth), Seed: p.Get(paramSeed), Tag: p.Get(paramTag)})
	}
	return s.crawl.Explain(r.Context(), q)
}

// Explain has the crawl explain a URL, as Crawl.Explain does.
func (r *Remote) Explain(ctx context.Context, q explain.Question) (e explain.Explanation, err error) {
	p := url.Values{paramURL: {q.URL.String()}, paramWritten: {q.Written}}
	if c := q.Found; c.Kind != 0 {
		p.Set(paramKind, c.Kind.String())
		p.Set(paramVia, c.Via)
		p.Set(paramDepth, strconv.Itoa(c.Depth))
		p.Set(paramSeed, c.Seed)
		p.Set(paramTag, c.Tag)
	}
	err = r.call(ctx, http.MethodGet, "/explain?"+p.Encode(), nil, &e)
	return e, err
}
