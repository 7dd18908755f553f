package wacz

import (
	"bufio"
	"io"
	"net/http"
	"strings"

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
	answer, head, err := final(io.LimitReader(rec.Block, maxBlock))
	if err != nil {
		return nil, err
	}
	// What has no whole head may be a body from its first octet on; at worst, more is left out.
	a.body = rec.Type == "revisit" || !answer.Complete || rec.Length > head
	date, err := rec.Date()
	web := strings.HasPrefix(uri, "http:") || strings.HasPrefix(uri, "https:")
	if err != nil || !web || answer.Status != http.StatusOK || !a.body || a.unkept {
		return a, nil // no page
	}
	_, seed := s.seeds[a.id]
	p := &page{ID: strings.TrimPrefix(a.id, "urn:uuid:"), URL: uri, Time: stamp(date), Seed: seed}
	payload := rec.Fields.Get("WARC-Payload-Digest")
	media := mediatype.Of(answer.Header)
	if rec.Type == "revisit" {
		title, known := s.titles.of(payload)
		if media.IsHTML() || media.Unnamed() && known {
			p.Title, a.page = title, p
		}
		return a, nil
	}
	body := bodyOf(answer)
	if head, _ := body.Peek(mediatype.MaxSniff); !media.IsPage(head) {
		return a, nil
	}
	p.Size, p.Title, a.page = rec.Length, titleOf(body, charsetOf(media, body)), p
	s.titles.keep(payload, p.Title)
	return a, nil
}

// charsetOf is the charset that a page's server names, or its XML declaration; "" if neither does. A page in HTML may begin
// with a declaration, which says nothing there, but that it is in UTF-16 if it is.
func charsetOf(media mediatype.Type, body *bufio.Reader) string {
	head, _ := body.Peek(mediatype.MaxSniff)
	switch {
	case media.Charset != "":
		return media.Charset
	case media.IsXHTML():
		return mediatype.Declared(head)
	}
	return mediatype.Wide(head)
}

// bodyOf reads what stands in the first octets of an answer, its codings undone. What cannot be read is nothing here.
func bodyOf(answer *warc.HTTP) *bufio.Reader {
	body, err := answer.Body(maxDecoded)
	if err != nil {
		body = strings.NewReader("")
	}
	return bufio.NewReaderSize(body, 4<<10)
}

// final reads the head of an answer, past those that only announce it (RFC 9110 15.2), and how many octets that took.
func final(block io.Reader) (h *warc.HTTP, head int64, err error) {
	for {
		if h, err = warc.ReadHTTP(block); err != nil {
			return nil, 0, err
		}
		head += int64(len(h.Head))
		if !h.Complete || h.Status < 100 || h.Status >= 200 || h.Status == http.StatusSwitchingProtocols {
			return h, head, nil
		}
		block = h.Payload
	}
}
