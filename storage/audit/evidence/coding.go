package evidence

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"curtsy/storage/warc"
)

// decoded returns a body without its content coding, as far as robots.txt is read.
func decoded(body []byte, coding string) ([]byte, error) {
	if coding == "" {
		return body, nil
	}
	h := warc.HTTP{Header: http.Header{"Content-Encoding": {coding}}, Payload: bytes.NewReader(body)}
	r, err := h.Body(maxBody)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	if errors.Is(err, warc.ErrTooLarge) {
		err = nil
	}
	return b, err
}
