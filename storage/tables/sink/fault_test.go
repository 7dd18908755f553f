package sink

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/durable"
	"curtsy/storage/tables"
)

var small = &tables.Table{Name: "small", Key: []string{"n"}, Columns: []tables.Column{
	{Name: "n", Kind: tables.Int64, Required: true}, {Name: "text", Kind: tables.String}, {Name: "list", Kind: tables.List}}}

func smallRow(i int) tables.Row {
	text := strings.Repeat(fmt.Sprintf("%x ", i*i*i), 500)
	return tables.Row{tables.Long(int64(i)), tables.Text(text), tables.Texts([]string{text, text})}
}

// full is a disk with limited room, which accepts a part of the last write.
type full struct {
	room int
	file *os.File
}

func (f *full) Write(b []byte) (int, error) {
	if len(b) <= f.room {
		f.room -= len(b)
		return f.file.Write(b)
	}
	n, _ := f.file.Write(b[:f.room])
	f.room = 0
	return n, &os.PathError{Op: "write", Path: f.file.Name(), Err: syscall.ENOSPC}
}

func TestAFullDiskLeavesNothing(t *testing.T) {
	for _, format := range []Format{CSV, JSONL, Parquet} {
		size := 0
		for room := 1 << 30; ; {
			dir := t.TempDir()
			path := filepath.Join(dir, "small"+format.Ext())
			require.NoError(t, os.WriteFile(path, []byte("before"), 0o666))
			disk := &full{room: room}
			err := fill(path, format, disk)
			b, left := mustRead(t, path), names(t, dir)
			switch {
			case left != 1:
				t.Fatalf("%s, room for %d bytes: %d names are left", format, room, left)
			case size == 0 && err == nil:
				size = len(b)
			case !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), ".new") || string(b) != "before":
				t.Fatalf("%s, room for %d of %d bytes: %v; %.20q", format, room, size, err, b)
			}
			switch {
			case room == 0:
			case room > size:
				room = size - 1
				continue
			default:
				room -= min(room, max(1, size/13))
				continue
			}
			break
		}
	}
}

func fill(path string, format Format, disk *full) error {
	d, err := durable.Begin(path)
	if err != nil {
		return err
	}
	disk.file = d.File
	var w writer
	switch format {
	case CSV:
		w, err = newCSV(disk, small, false)
	case JSONL:
		w = newJSONL(disk, small)
	default:
		w, err = newParquet(disk, small, "1")
	}
	if err != nil {
		d.Abort()
		return d.Wrong(err)
	}
	s := newFile(small, d, w, d.Commit, d.Abort)
	defer s.Abort()
	for i := range 500 {
		if err := s.Write(smallRow(i)); err != nil {
			if again := s.Close(); !errors.Is(again, err) {
				return errors.Join(err, fmt.Errorf("but then %w", again))
			}
			return err
		}
	}
	return s.Close()
}

func TestAFullDiskLeavesNoDatabase(t *testing.T) {
	for _, room := range []int{5, 50, 500} {
		dir := t.TempDir()
		path := filepath.Join(dir, DatabaseName)
		db, err := newDatabase(path)
		require.NoError(t, err)
		s, err := db.table(small, Options{}, nil, nil)
		require.NoError(t, err)
		_, err = db.conn.ExecContext(context.Background(), fmt.Sprintf("PRAGMA max_page_count = %d", room))
		require.NoError(t, err)
		for i := range 2000 {
			if err = s.Write(smallRow(i)); err != nil {
				break
			}
		}
		assert.Truef(t, err != nil && strings.Contains(err.Error(), path+": ") && strings.Contains(err.Error(), "full"), "room for %d pages: %v", room, err)
		assert.ErrorIsf(t, s.Close(), err, "room for %d pages", room)
		again := db.close()
		assert.Truef(t, again != nil && names(t, dir) == 0, "room for %d pages: %v, %d names", room, again, names(t, dir))
	}
}

func TestSink_RemovesPartialFiles(t *testing.T) {
	dir := t.TempDir()
	for _, format := range Formats() {
		left := filepath.Join(dir, ".small"+format.Ext()+".abcdefgh.new")
		require.NoError(t, os.WriteFile(left, []byte("half"), 0o666))
	}
	for i, format := range Formats() {
		s, err := Create(format, filepath.Join(dir, "small"+format.Ext()), small, Options{})
		require.NoError(t, err)
		s.Abort()
		want := len(Formats()) - 1 - i
		assert.Truef(t, names(t, dir) == want, "%s: %d names are left, want %d", format, names(t, dir), want)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

func names(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	return len(entries)
}
