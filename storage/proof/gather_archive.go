package proof

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"curtsy/storage"
	"curtsy/storage/answer"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// maxBody is what is read of a robots.txt: one byte more than RFC 9309 2.5 asks for, as crawls do.
const maxBody = 500<<10 + 1

// heads finds the heads of exchanges in the archive.
func (g *gathered) heads(ctx context.Context, some []Exchange) ([]*Head, error) {
	all := make([]*Head, len(some))
	byURL := map[string][]int{}
	for i, e := range some {
		byURL[e.URL] = append(byURL[e.URL], i)
	}
	for url, wanted := range byURL {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		byRecord := map[string]int{}
		for _, i := range wanted {
			byRecord[some[i].Record] = i
		}
		g.captures(url, func(path string, at int64) bool {
			id, h := headAt(path, at)
			i, ok := byRecord[id]
			if !ok {
				return true
			}
			if all[i] = h; h.sum() != some[i].Heads {
				all[i] = &Head{Request: h.Request} // an answer without a whole head
			}
			delete(byRecord, id)
			return len(byRecord) > 0
		})
	}
	return all, nil
}

// captures calls f with the place of each archived answer of a URL until it has enough. Lines of the index that cannot be
// read, or lead nowhere, are passed over: an audit names them.
func (g *gathered) captures(url string, f func(path string, offset int64) bool) {
	for l, err := range cdxj.Lookup(g.crawl.Index, url) {
		if err != nil || l.URL != url || filepath.Base(l.Filename) != l.Filename {
			continue
		}
		path := filepath.Join(g.crawl.Archive, l.Filename)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			path += ".open" // the segment that a crawl is writing
		}
		if !f(path, l.Offset) {
			return
		}
	}
}

// headAt reads the head of the answer at a place, and the request before it. The id is that of the answer's record.
func headAt(path string, offset int64) (id string, h *Head) {
	rec, file, err := warc.ReadAt(path, offset)
	if err != nil {
		return "", nil
	}
	defer file.Close()
	id, h = rec.ID(), &Head{}
	if of, err := warc.ReadHTTP(rec.Block); err == nil && of.Complete {
		h.Answer = bytes.Clone(of.Head)
	}
	h.Request = requestBefore(path, offset, rec.ConcurrentTo())
	return id, h
}

// Requests are short: the member of one begins within so many bytes before its answer.
const maxRequest = 64 << 10

// requestBefore reads the request with an id that ends where its answer begins. Each record is a gzip member of its own
// (WARC 1.1, D.2), so it begins at one of the places before that look like the beginning of a member, and the id tells
// at which.
func requestBefore(path string, offset int64, id string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, min(maxRequest, offset))
	if _, err := f.ReadAt(b, offset-int64(len(b))); err != nil {
		return nil
	}
	for tries := 64; tries > 0; tries-- {
		i := bytes.LastIndex(b, []byte{0x1f, 0x8b, 8})
		if i < 0 {
			return nil
		}
		if request := requestAt(path, offset-int64(len(b)-i), id); request != nil {
			return request
		}
		offset, b = offset-int64(len(b)-i), b[:i]
	}
	return nil
}

func requestAt(path string, at int64, id string) []byte {
	rec, file, err := warc.ReadAt(path, at)
	if err != nil {
		return nil
	}
	defer file.Close()
	if rec.Type != "request" || rec.ID() != id || rec.Length > maxRequest {
		return nil
	}
	b, err := io.ReadAll(rec.Block)
	if err != nil {
		return nil
	}
	return b
}

// robotsOf finds the robots.txt with a digest. The host's own exchange may have been a redirect: then another host's has
// it, which the lines are searched for.
func (g *gathered) robotsOf(ctx context.Context, sha string) []byte {
	at, ok := g.robots[sha]
	if !ok && g.wanted != nil {
		g.elsewhere(ctx)
		at, ok = g.robots[sha]
	}
	if !ok {
		return nil
	}
	var body []byte
	g.captures(at.url, func(path string, offset int64) bool {
		rec, file, err := warc.ReadAt(path, offset)
		if err != nil {
			return true
		}
		defer file.Close()
		if rec.ID() != at.record {
			return true
		}
		body = bodyOf(rec)
		return false
	})
	return body
}

func bodyOf(rec *warc.Record) []byte {
	a, err := answer.Read(rec, 0)
	if err != nil {
		return nil
	}
	in, err := a.Body(maxBody)
	if err != nil {
		return nil
	}
	b, err := io.ReadAll(in)
	if err != nil && !errors.Is(err, warc.ErrTooLarge) {
		return nil
	}
	return b
}

// robotsWord stands in each line of an exchange for robots.txt.
var robotsWord = []byte(`,"decision":"` + string(storage.DecisionRobots) + `"`)

// elsewhere looks once through all lines for the robots.txt files that this host's own exchanges did not bring.
func (g *gathered) elsewhere(ctx context.Context) {
	for e, err := range g.entries(ctx) {
		if err != nil {
			break
		}
		if ledger.IsMark(e.Line) || ledger.IsStub(e.Line) || !bytes.Contains(e.Line, robotsWord) {
			continue
		}
		l, err := storage.ParseLine(e.Line)
		if err == nil && l.Decision == storage.DecisionRobots && l.Record != "" && g.wanted[l.RobotsSHA256] && g.robots[l.RobotsSHA256] == (place{}) {
			g.robots[l.RobotsSHA256] = place{l.URL, l.Record}
		}
	}
	g.wanted = nil
}
