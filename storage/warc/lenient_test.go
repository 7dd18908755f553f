package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func rec(kind, block string) string {
	return fmt.Sprintf("WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: http://a.test/\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", kind, len(block), block)
}

// leniently returns type and block of each record, "!" for a block that ends early, and the codes of all findings.
func leniently(t *testing.T, in []byte) (records, codes []string) {
	t.Helper()
	l := NewLenient(bytes.NewReader(in), func(f Finding) {
		assert.Truef(t, f.Offset >= 0 && f.Offset <= int64(len(in)) && f.Text != "", "finding %v", f)
		codes = append(codes, f.Code)
	})
	for {
		r, err := l.Next()
		if err == io.EOF {
			return records, codes
		}
		require.NoError(t, err)
		b, err := io.ReadAll(r.Block)
		if err != nil {
			b = []byte("!")
		}
		records = append(records, r.Type+" "+string(b))
	}
}

// Each departure from the standard is reported, and each readable record returned.
func TestLenient(t *testing.T) {
	a, b, c := rec("a", "one"), rec("b", "two"), rec("c", "three")
	gz := members(a, b, c)
	first := len(members(a))
	flip := slices.Clone(gz)
	flip[first+14] ^= 0x55
	sum := slices.Clone(gz)
	sum[first-6] ^= 1
	random := string(noise(200_000))
	all := "a one|b two|c three"
	for _, tt := range []struct {
		name, records, codes string
		in                   []byte
	}{
		{"in order", all, "", gz},
		{"nothing", "", "", nil},
		{"plain", all, PlainFile, []byte(a + b + c)},
		{"one member", all, SeveralRecords, members(a + b + c)},
		{"two in one member", all, SeveralRecords, members(a+b, c)},
		{"old", "a one", OldVersion, members(strings.Replace(a, "1.0", "0.18", 1))},
		{"unknown version", "a one", OddVersion, members(strings.Replace(a, "1.0", "7.0", 1))},
		{"angle brackets", "a one", AngleBrackets, members(strings.Replace(a, "http://a.test/", "<http://a.test/>", 1))},
		{"line feeds", "a one|b two", LineFeed + " " + ShortEnd, members(strings.ReplaceAll(a, "\r", ""), b)},
		{"a line that is not a field", "a one", BadField, members(strings.Replace(a, "WARC-Target-URI:", "WARC Target", 1))},
		{"length twice", "a one", LengthTwice, members(strings.Replace(a, "Content-Length", "Content-Length: 3\r\nContent-Length", 1))},
		{"lengths differ", "b two", NoLength + " " + Garbage, members(strings.Replace(a, "Content-Length", "Content-Length: 4\r\nContent-Length", 1), b)},
		{"no length, compressed", "b two", NoLength + " " + Garbage, members(strings.Replace(a, "Content-Length", "X", 1), b)},
		{"no length, plain", "b two|c three", PlainFile + " " + NoLength + " " + Garbage, []byte(strings.Replace(a, "Content-Length", "X", 1) + b + c)},
		{"length too small", "a on|b two", NoEnd + " " + Garbage, members(strings.Replace(a, "Length: 3", "Length: 2", 1), b)},
		{"length too large", "a !|b two", ShortMember, members(strings.Replace(a, "Length: 3", "Length: 33", 1), b)},
		{"length too large, plain", "a !", PlainFile + " " + Torn, []byte(strings.Replace(a, "Length: 3", "Length: 999999999999", 1) + b)},
		{"long head", "b two", LongHead + " " + Garbage, members("WARC/1.0\r\nx: "+strings.Repeat("y", maxHead), b)},
		{"torn member", "a one", Torn, gz[:first+60]},
		{"torn block", "a one|b !", Torn, members(a, rec("b", random))[:first+100_000]},
		{"torn head", "a one", Torn, gz[:first+14]},
		{"torn gzip header", "a one", Torn, gz[:first+5]},
		{"torn checksum", all, Torn, gz[:len(gz)-3]},
		{"torn, plain", "a one|b !", PlainFile + " " + Torn, []byte((a + b)[:len(a+b)-6])},
		{"damaged", "a one|c three", Garbage + " " + DamagedMember + " " + Garbage, flip},
		{"checksum", all, DamagedMember, sum},
		{"one line end", "a one|b two", ShortEnd, members(a[:len(a)-2], b)},
		{"empty lines, plain", "a one|b two", PlainFile + " " + ExtraLines, []byte(a + "\r\n\r\n" + b)},
		{"empty lines, compressed", "a one|b two", ExtraLines, members(a+"\r\n", b)},
		{"garbage before", "a one", Garbage, append([]byte(random), members(a)...)},
		{"garbage before, plain", "a one", Garbage, []byte("x\n" + a)},
		{"garbage between", "a one|b two", Garbage, append(append(members(a), random...), members(b)...)},
		{"garbage between, plain", "a one|b two", PlainFile + " " + Garbage, []byte(a + random + "\n" + b)},
		{"zeros behind", "a one", Garbage, append(members(a), make([]byte, 100_000)...)},
		{"empty member", "a one|b two", Garbage, members(a, "", b)},
		{"no WARC", "", Garbage, members("HTTP/1.1 200 OK\r\n\r\n")},
		{"no archive", "", Garbage, []byte("<html>")},
	} {
		records, codes := leniently(t, tt.in)
		assert.Equalf(t, tt.records, strings.Join(records, "|"), "%s: records", tt.name)
		assert.Equalf(t, tt.codes, strings.Join(codes, " "), "%s: findings", tt.name)
	}
}

func TestZstdIsNamed(t *testing.T) {
	for _, in := range []string{"\x28\xb5\x2f\xfd....", "\x5d\x2a\x4d\x18...."} {
		_, err := NewLenient(strings.NewReader(in), nil).Next()
		assert.True(t, errors.Is(err, ErrZstd) && strings.Contains(err.Error(), ".warc.zst"), err)
	}
}

func TestLenient_ReadErrorIsNotAFinding(t *testing.T) {
	broken := errors.New("input/output error")
	for _, in := range [][]byte{members(rec("a", "one"), rec("b", "two")), []byte(rec("a", "one") + rec("b", "two"))} {
		for n := range in {
			l := NewLenient(io.MultiReader(bytes.NewReader(in[:n]), failing{broken}), func(f Finding) {
				assert.Truef(t, f.Note(), "after %d octets: %v", n, f)
			})
			var err error
			for err == nil {
				_, err = l.Next()
			}
			assert.ErrorIsf(t, err, broken, "after %d octets", n)
		}
	}
}

func TestLenientMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory")
	}
	const size = 64 << 20
	zeros := string(make([]byte, size))
	for name, in := range map[string][]byte{
		"block": members(rec("a", zeros)), "plain": []byte(rec("a", zeros)), "bomb of a head": members("WARC/1.0\r\nx: " + zeros),
		"bomb of garbage": members(zeros), "garbage": []byte("x" + zeros),
	} {
		if n := allocation(func() {
			l := NewLenient(bytes.NewReader(in), nil)
			var err error
			for err == nil {
				_, err = l.Next()
			}
			assert.Truef(t, err == io.EOF, "%s: %v", name, err)
		}); n > 1<<20 {
			t.Errorf("%s: allocated %d octets", name, n)
		}
	}
}

// Reading ends; findings lie in the file and include each short block; a strict Reader either reads the same, without
// findings, or stops at one of them.
func FuzzLenient(f *testing.F) {
	segment, _ := threeExchanges(f)
	f.Add(segment, 0)
	f.Add(segment[:len(segment)-3], 0)
	f.Add([]byte(rec("a", "one")+rec("b", "two")), 1)
	f.Add([]byte(strings.ReplaceAll(rec("a", "one"), "\r", "")+"\x1f\x8b\x08WARC/"), 0)
	f.Fuzz(func(t *testing.T, in []byte, wrap int) {
		for range wrap & 1 {
			in = members(string(in), string(in))
		}
		var strict []string
		var stopped error
		for rd := NewReader(bytes.NewReader(in)); ; {
			r, err := rd.Next()
			if err != nil {
				stopped = err
				break
			}
			b, err := io.ReadAll(r.Block)
			if err != nil {
				stopped = err
				break
			}
			strict = append(strict, fmt.Sprint(r.Offset, r.Fields, string(b)))
		}
		bad := 0
		var got []string
		l := NewLenient(bytes.NewReader(in), func(f Finding) {
			require.Truef(t, f.Offset >= 0 && f.Offset <= int64(len(in)), "finding %v in %d octets", f, len(in))
			if bad++; f.Code == AngleBrackets || f.Code == OldVersion || f.Code == OddVersion {
				bad--
			}
		})
		for {
			r, err := l.Next()
			if err != nil {
				require.False(t, err != io.EOF && !errors.Is(err, ErrZstd), err)
				break
			}
			before := bad
			b, err := io.ReadAll(r.Block)
			require.Falsef(t, int64(len(b)) != r.Length && (err == nil || bad == before), "%d octets of %d, %v, and nothing was found", len(b), r.Length, err)
			got = append(got, fmt.Sprint(r.Offset, r.Fields, string(b)))
			end, err := l.End()
			require.Truef(t, err == nil && end >= r.Offset && end <= int64(len(in)), "record at %d ends at %d, %v", r.Offset, end, err)
		}
		if stopped == io.EOF {
			require.Truef(t, slices.Equal(got, strict) && bad <= 0, "read %q with %d findings, strictly %q", got, bad, strict)
		} else if bad == 0 && !errors.Is(l.err, ErrZstd) {
			t.Fatalf("found nothing, strictly: %v", stopped)
		}
	})
}

func TestReadAt(t *testing.T) {
	a, b := rec("a", "one"), rec("b", "two")
	for name, in := range map[string][]byte{"gz": members(a, b), "plain": []byte(a + b)} {
		at := int64(len(a))
		if name == "gz" {
			at = int64(len(members(a)))
		}
		path := t.TempDir() + "/x"
		writeFile(t, path, in)
		for offset := int64(0); offset <= int64(len(in))+1; offset++ {
			r, f, err := ReadAt(path, offset)
			require.Equalf(t, (offset == 0 || offset == at), (err == nil), "%s: at %d: %v, %v", name, offset, r, err)
			if err != nil {
				continue
			}
			block, err := io.ReadAll(r.Block)
			want := map[bool]string{true: "one", false: "two"}[offset == 0]
			assert.Truef(t, string(block) == want && err == nil && r.Offset == offset, "%s: at %d: %q, %v", name, offset, block, err)
			f.Close()
		}
	}
	_, _, err := ReadAt("no such file", 0)
	assert.Error(t, err, "read past the end")
}

func TestLenient_ChecksumAfterWrongLength(t *testing.T) {
	for _, length := range []string{"4", "5", "6"} {
		gz := members(strings.Replace(rec("a", "one"), "Length: 3", "Length: "+length, 1))
		gz[len(gz)-6] ^= 1
		var codes []string
		l := NewLenient(bytes.NewReader(gz), func(f Finding) { codes = append(codes, f.Code) })
		_, err := l.Next()
		require.NoError(t, err)
		_, err = l.End()
		require.NoError(t, err)
		assert.Containsf(t, codes, DamagedMember, "Content-Length %s", length)
	}
}
