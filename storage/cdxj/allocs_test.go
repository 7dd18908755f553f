package cdxj

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/storage/warc"
)

func entry(i int) warc.Entry {
	return warc.Entry{
		File: "curtsy-00000.warc.gz", Offset: int64(i) * 7000, Length: 7000, Kind: "response", ID: "urn:uuid:6d0f2c3a-6f2f-4c5e-9d5b-0a2b3c4d5e6f",
		URL: fmt.Sprintf("https://www.a.test/some/page/%d.html?a=b", i), Date: began, Status: 200, Type: "text/html",
		Payload: digestOf(fmt.Sprint(i)), HasPayload: true, Repeatable: true,
	}
}

func TestAddAllocatesLittle(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir(), Options{})
	require.NoError(t, err)
	defer s.Close()
	e := entry(1)
	require.NoError(t, s.Add(e))
	i := uint64(0)
	if n := testing.AllocsPerRun(1000, func() { // the growing table allocates less than once per call
		binary.LittleEndian.PutUint64(e.Payload[:], i)
		if i++; s.Add(e) != nil {
			t.Fail()
		}
	}); n > 4 {
		t.Errorf("%v allocations for a line", n)
	}
}

func TestAskingForANewPayloadAllocatesNothing(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir(), Options{})
	require.NoError(t, err)
	defer s.Close()
	for i := range 100 {
		require.NoError(t, s.Add(entry(i)))
	}
	payload := digestOf("new")
	if n := testing.AllocsPerRun(100, func() {
		if _, known, err := s.Original(payload); known || err != nil {
			t.Fail()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
