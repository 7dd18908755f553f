package meter

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReader_AddsBytesRead(t *testing.T) {
	var of, done int64
	ctx := With(context.Background(), Listener{Of: func(n int64) { of += n }, Add: func(n int64) { done += n }})
	Of(ctx, 9)
	Add(ctx, 2)
	if b, err := io.ReadAll(Reader(ctx, strings.NewReader("1234567"))); string(b) != "1234567" || err != nil || of != 9 || done != 9 {
		t.Errorf("%q, %v: %d of %d", b, err, done, of)
	}
}

func TestMeter_WithoutListener(t *testing.T) {
	Of(t.Context(), 1)
	Add(t.Context(), 1)
	r := strings.NewReader("")
	assert.True(t, Reader(t.Context(), r) == io.Reader(r), "a reader more")
}
