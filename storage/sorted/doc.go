// Package sorted sorts byte strings in bounded memory, with temporary files. To compare two accounts of one crawl, both
// are added under equal keys and come out side by side.
//
// Add all strings first, then read them as often as needed in one goroutine. Close removes the files.
package sorted
