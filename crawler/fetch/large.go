package fetch

import (
	"bytes"
	"errors"
	"io"
	"math"

	"curtsy/storage/coding"
)

// A decoder keeps a window of what it has decoded: of br up to 16 MiB, which four octets can ask for. Exchanges in
// flight are many, and slow ones stay so for minutes; if each held such a window, a few hundred hosts would cost
// gigabytes. So what may take more than smallWindow is decoded once all of it is here, by no more than largeDecoders at
// a time: they wait for no host.
const (
	smallWindow   = 512 << 10
	largeDecoders = 4
)

// plain returns p with its codings undone. The caller calls close when it has been read. The error is a
// *spoolError: that of the body is found by reading on.
func (f *Fetcher) plain(p *payload, undo []string) (r io.Reader, release func(), err error) {
	var first [1]byte
	n, err := io.ReadFull(p, first[:])
	src := io.MultiReader(bytes.NewReader(first[:n]), p)
	if err != nil || coding.Window(undo, first[0]) <= smallWindow {
		z := coding.NewReader(src, undo, &f.decoders)
		return z, z.Close, nil
	}
	whole := f.newSpooled()
	size, _, err := f.transfer(whole, src, math.MaxInt64)
	var own *spoolError
	if errors.As(err, &own) {
		return nil, nil, errors.Join(own, whole.close())
	}
	f.large <- struct{}{}
	// No pool: a decoder in one keeps its window, and the next body that it is for may be slow.
	z := coding.NewReader(io.NewSectionReader(whole, 0, size), undo, nil)
	return z, func() {
		<-f.large
		_ = whole.close() // it was read, or its error was
	}, nil
}
