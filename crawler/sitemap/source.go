package sitemap

import (
	"compress/gzip"
	"errors"
	"io"
)

// body remembers the error of the reader that we were given: that is our own affair, and those of the file are not.
type body struct {
	r   io.Reader
	err error
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// unzipped is what a gzip file holds. Bytes behind its last member, padding mostly, are not looked at.
type unzipped struct {
	r   io.Reader
	z   *gzip.Reader
	err error
}

func (u *unzipped) Read(p []byte) (n int, err error) {
	if u.err != nil {
		return 0, u.err
	}
	if u.z == nil {
		if u.z, u.err = gzip.NewReader(u.r); u.err != nil {
			return 0, u.err
		}
		u.z.Multistream(false)
	}
	for n == 0 && u.err == nil && len(p) > 0 {
		n, u.err = u.z.Read(p)
		if errors.Is(u.err, io.EOF) {
			u.err = nil
			if u.z.Reset(u.r) != nil {
				u.err = io.EOF
			}
			u.z.Multistream(false)
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, u.err
}

// window lets through so many bytes and remembers how the reading of the rest ended.
type window struct {
	r    io.Reader
	left int64
	read int64
	over bool  // there were more
	err  error // a fault of the coding
}

func (w *window) Read(p []byte) (int, error) {
	if w.err != nil {
		return 0, io.EOF
	}
	if w.left == 0 {
		var probe [1]byte
		n, _ := io.ReadFull(w.r, probe[:])
		w.over = w.over || n > 0
		return 0, io.EOF
	}
	n, err := w.r.Read(p[:min(int64(len(p)), w.left)])
	w.left -= int64(n)
	w.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
		err = io.EOF // what came so far counts
	}
	return n, err
}
