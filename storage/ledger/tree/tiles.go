package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/frontier/durable"
)

const (
	tileHeight = 8
	tileWidth  = 1 << tileHeight
	tileFolder = "tile"
	maxLevels  = 64 / tileHeight
)

// ErrTiles reports tiles that are missing, damaged, or of another tree: Rebuild makes them again from the lines.
var ErrTiles = errors.New("the tiles of the ledger are not those of its checkpoint")

// Tiles writes the tiles of a tree that grows, without making them durable. Its methods are not for concurrent use.
type Tiles struct {
	dir  string
	size int64
	part [maxLevels][]tlog.Hash // the hashes of the last tile of each level
}

// NewTiles returns the tiles of an empty tree below the folder dir. It removes those of another tree.
func NewTiles(dir string) (*Tiles, error) {
	if err := os.RemoveAll(filepath.Join(dir, tileFolder)); err != nil {
		return nil, fmt.Errorf("tree: tiles: %w", err)
	}
	return &Tiles{dir: dir}, nil
}

// OpenTiles continues the tiles below the folder dir, of a tree of that size and root. It returns ErrTiles if they differ.
func OpenTiles(dir string, size int64, root tlog.Hash) (*Tiles, error) {
	t := &Tiles{dir: dir, size: size}
	if err := t.folders(filepath.Join(dir, tileFolder, "0")); err != nil {
		return nil, fmt.Errorf("tree: tiles: %w: %w", ErrTiles, err)
	}
	r := reader{dir}
	for level := range maxLevels {
		n := size >> (level * tileHeight)
		if n == 0 {
			break
		}
		tile := tlog.Tile{H: tileHeight, L: level, N: n >> tileHeight, W: int(n & (tileWidth - 1))}
		if tile.W == 0 {
			continue
		}
		b, err := r.tile(tile)
		if err != nil {
			return nil, fmt.Errorf("tree: tiles: %w", err)
		}
		for i := range tile.W {
			t.part[level] = append(t.part[level], tlog.Hash(b[i*tlog.HashSize:]))
		}
	}
	// Only the partial tiles make the root.
	if t.root() != root {
		return nil, fmt.Errorf("tree: tiles: %w", ErrTiles)
	}
	return t, nil
}

func (t *Tiles) root() tlog.Hash {
	var edge []tlog.Hash
	for level := maxLevels - 1; level >= 0; level-- {
		for part := t.part[level]; len(part) > 0; {
			n := 1 << (bits.Len(uint(len(part))) - 1)
			edge = append(edge, perfect(part[:n]))
			part = part[n:]
		}
	}
	return fold(edge)
}

func perfect(hashes []tlog.Hash) tlog.Hash {
	var g Growing
	for _, h := range hashes {
		g.Append(h)
	}
	return g.Root()
}

// Append adds entries, and writes each full tile.
func (t *Tiles) Append(hashes ...tlog.Hash) error {
	for _, h := range hashes {
		t.size++
		for level := 0; ; level++ {
			t.part[level] = append(t.part[level], h)
			if len(t.part[level]) < tileWidth {
				break
			}
			if err := t.write(level, tileWidth); err != nil {
				return err
			}
			h = perfect(t.part[level])
			t.part[level] = t.part[level][:0]
		}
	}
	return nil
}

func (t *Tiles) Size() int64 { return t.size }

// Flush writes the partial tiles, and removes earlier ones.
func (t *Tiles) Flush() error {
	for level := range maxLevels {
		if w := len(t.part[level]); w > 0 {
			if err := t.write(level, w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Tiles) write(level, width int) error {
	n := (t.size>>(level*tileHeight) - 1) >> tileHeight
	tile := tlog.Tile{H: tileHeight, L: level, N: n, W: width}
	path := tilePath(t.dir, tile)
	b := make([]byte, 0, width*tlog.HashSize)
	for _, h := range t.part[level] {
		b = append(b, h[:]...)
	}
	if err := t.put(path, b); err != nil {
		return fmt.Errorf("tree: tiles: %w", err)
	}
	tile.W = 1
	narrow := filepath.Dir(tilePath(t.dir, tile))
	if width == tileWidth {
		if err := os.RemoveAll(narrow); err != nil {
			return fmt.Errorf("tree: tiles: %w", err)
		}
		return nil
	}
	entries, err := os.ReadDir(narrow)
	if err != nil {
		return fmt.Errorf("tree: tiles: %w", err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			if err := os.Remove(filepath.Join(narrow, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("tree: tiles: %w", err)
			}
		}
	}
	return nil
}

func (t *Tiles) put(path string, b []byte) error {
	if err := t.folders(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := durable.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// folders makes a folder below the ledger's and its parents. A link in place of one is durable.ErrForeign.
func (t *Tiles) folders(path string) error {
	if path != t.dir {
		if err := t.folders(filepath.Dir(path)); err != nil {
			return err
		}
	}
	if err := durable.Folder(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Rebuild makes the tiles below the folder dir from the hashes of all entries.
func Rebuild(dir string, hashes iter.Seq2[tlog.Hash, error]) (*Tiles, error) {
	t, err := NewTiles(dir)
	if err != nil {
		return nil, err
	}
	for h, err := range hashes {
		if err != nil {
			return nil, err
		}
		if err := t.Append(h); err != nil {
			return nil, err
		}
	}
	return t, t.Flush()
}

// tilePath returns the file of a tile. The specification's path is that of package tlog without the height.
func tilePath(dir string, t tlog.Tile) string {
	return filepath.Join(dir, tileFolder, filepath.FromSlash(strings.TrimPrefix(t.Path(), "tile/"+strconv.Itoa(tileHeight)+"/")))
}

// Widest returns the file among the tiles below the folder dir that needs the largest tree, and that size: math.MaxInt64 for a
// file that is not a tile, 0 without files. It reads no tile.
func Widest(dir string) (path string, size int64, err error) {
	err = filepath.WalkDir(filepath.Join(dir, tileFolder), func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // none, or just replaced by a wider one
			return nil
		case err != nil || d.IsDir():
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if n := needed(rel); n > size {
			path, size = rel, n
		}
		return nil
	})
	if err != nil {
		return "", 0, fmt.Errorf("tree: tiles: %w", err)
	}
	return path, size, nil
}

func needed(path string) int64 {
	t, err := tlog.ParseTilePath(strings.Replace(path, tileFolder, tileFolder+"/"+strconv.Itoa(tileHeight), 1))
	if err != nil || t.L < 0 || t.L >= maxLevels {
		return math.MaxInt64
	}
	wide := t.L * tileHeight
	if t.N > (math.MaxInt64>>wide-int64(t.W))>>tileHeight {
		return math.MaxInt64
	}
	return (t.N<<tileHeight + int64(t.W)) << wide
}

// Reader reads the hashes of the tree of that size and root from the tiles below the folder dir, and checks each against the
// root. Damaged tiles are ErrTiles.
func Reader(dir string, size int64, root tlog.Hash) tlog.HashReader {
	in := tlog.TileHashReader(tlog.Tree{N: size, Hash: root}, reader{dir})
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		if size == 0 || len(indexes) == 0 {
			return nil, nil
		}
		hashes, err := in.ReadHashes(indexes)
		if err != nil && !errors.Is(err, ErrTiles) {
			err = fmt.Errorf("%w (%w)", ErrTiles, err)
		}
		return hashes, err
	})
}

// reader is a tlog.TileReader over a folder.
type reader struct{ dir string }

func (reader) Height() int                     { return tileHeight }
func (reader) SaveTiles([]tlog.Tile, [][]byte) {}

func (r reader) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	all := make([][]byte, len(tiles))
	for i, t := range tiles {
		b, err := r.tile(t)
		if err != nil {
			return nil, err
		}
		all[i] = b
	}
	return all, nil
}

// tile reads a tile, from a wider one if that has replaced it.
func (r reader) tile(t tlog.Tile) ([]byte, error) {
	paths := []string{tilePath(r.dir, t)}
	if t.W < tileWidth {
		full := t
		full.W = tileWidth
		paths = append(paths, tilePath(r.dir, full))
		entries, _ := os.ReadDir(filepath.Dir(paths[0]))
		for _, e := range entries {
			if w, err := strconv.Atoi(e.Name()); err == nil && w > t.W && w < tileWidth {
				wide := t
				wide.W = w
				paths = append(paths, tilePath(r.dir, wide))
			}
		}
	}
	for _, path := range paths {
		b, err := readTile(path, t.W*tlog.HashSize)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		default:
			return b, nil
		}
	}
	return nil, fmt.Errorf("%w: no %s", ErrTiles, paths[0])
}

func readTile(path string, n int) ([]byte, error) {
	f, err := durable.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, n)
	if _, err := f.ReadAt(b, 0); err != nil {
		return nil, fmt.Errorf("%w: %s is too short", ErrTiles, path)
	}
	return b, nil
}
