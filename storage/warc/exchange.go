package warc

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/google/uuid"

	"curtsy/storage"
)

// exchange is a storage.Record made ready: checked, digested, its ids given. It can be pressed more than once.
type exchange struct {
	request, response head // without a warcinfo id; a kind "" is no record
	sent              *bytes.Reader
	received          *io.SectionReader
}

// prepare checks r and computes the digests of its blocks.
func prepare(ctx context.Context, p *press, newID func() uuid.UUID, r *storage.Record) (*exchange, error) {
	if err := check(r); err != nil {
		return nil, err
	}
	common := head{date: r.Time, target: r.URL, addr: r.Addr.Addr(), protocols: r.Protocols}
	e := &exchange{sent: bytes.NewReader(r.Request), received: r.Response}
	var err error
	if n := int64(len(r.Request)); n > 0 {
		h := common
		h.kind, h.media, h.length, h.id = "request", typeRequest, n, newID().URN()
		if h.block, err = p.digest(ctx, e.sent, n); err != nil {
			return nil, err
		}
		e.request = h
	}
	if r.Response != nil && r.Response.Size() > 0 {
		h := common
		h.kind, h.media, h.length, h.id = "response", typeResponse, r.Response.Size(), newID().URN()
		h.truncated = r.Truncated
		if r.HasPayload {
			h.payload = &r.PayloadDigest
		}
		if h.block, err = p.digest(ctx, e.received, h.length); err != nil {
			return nil, fmt.Errorf("warc: read the response of %s: %w", r.URL, err)
		}
		e.response = h
	}
	e.request.concurrent, e.response.concurrent = e.response.id, e.request.id
	return e, nil
}

// check refuses what would not stay within its line.
func check(r *storage.Record) error {
	if r.URL == "" || !solid(r.URL) {
		return fmt.Errorf("warc: record: %q cannot be a WARC-Target-URI", r.URL)
	}
	if !solid(r.Truncated) {
		return fmt.Errorf("warc: record of %s: %q cannot be a WARC-Truncated", r.URL, r.Truncated)
	}
	for _, p := range r.Protocols {
		if !solid(p) {
			return fmt.Errorf("warc: record of %s: %q cannot be a WARC-Protocol", r.URL, p)
		}
	}
	return nil
}

// id is the id by which the exchange is known, "" when nothing crossed the connection.
func (e *exchange) id() string {
	if e.response.id != "" {
		return e.response.id
	}
	return e.request.id
}

// press adds the exchange's members to p's spool, for a segment whose warcinfo record is info.
func (e *exchange) press(ctx context.Context, p *press, info string) error {
	e.request.info, e.response.info = info, info
	if e.request.kind != "" {
		if err := p.member(ctx, &e.request, e.sent); err != nil {
			return fmt.Errorf("warc: compress the request of %s: %w", e.request.target, err)
		}
	}
	if e.response.kind != "" {
		if err := p.member(ctx, &e.response, e.received); err != nil {
			return fmt.Errorf("warc: compress the response of %s: %w", e.response.target, err)
		}
	}
	return nil
}
