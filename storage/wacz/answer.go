package wacz

import (
	"bufio"
	"net/http"
	"strings"

	"curtsy/storage/answer"
	"curtsy/storage/mediatype"
	"curtsy/storage/warc"
)

// maxBlock is how much of a block is read for its title.
const maxBlock = 1 << 20

// readAnswer reads what a response or revisit record says, as far as the list of pages needs it.
func (s *survey) readAnswer(rec *warc.Record) (*answered, error) {
	a := &answered{id: rec.ID(), offset: rec.Offset}
	_, a.unkept = s.unkept[a.id]
	uri := rec.TargetURI()
	a.indexed = uri != ""
	got, err := answer.Read(rec, maxBlock)
	if err != nil {
		return nil, err
	}
	// Without a whole head, all may be body from the first byte on; at worst, more is left out.
	a.body = got.Revisit || !got.Complete || rec.Length > got.Head
	web := strings.HasPrefix(uri, "http:") || strings.HasPrefix(uri, "https:")
	if got.Undated != nil || !web || got.Status != http.StatusOK || !a.body || a.unkept {
		return a, nil // no page
	}
	_, seed := s.seeds[a.id]
	p := &page{ID: strings.TrimPrefix(a.id, "urn:uuid:"), URL: uri, Time: stamp(got.Date), Seed: seed}
	media := got.Type()
	if got.Revisit {
		title, known := s.titles.of(got.Digest)
		if media.IsHTML() || media.Unnamed() && known {
			p.Title, a.page = title, p
		}
		return a, nil
	}
	body := bodyOf(got)
	head, _ := body.Peek(mediatype.MaxSniff)
	if !media.IsPage(head) {
		return a, nil
	}
	p.Size, p.Title, a.page = rec.Length, titleOf(body, got.Charset(head)), p
	s.titles.keep(got.Digest, p.Title)
	return a, nil
}

// bodyOf reads what stands in the first bytes of an answer, its codings undone. A body that cannot be read counts as
// empty.
func bodyOf(a *answer.Answer) *bufio.Reader {
	body, err := a.Body(maxDecoded)
	if err != nil {
		body = strings.NewReader("")
	}
	return bufio.NewReaderSize(body, 4<<10)
}
