package check

import "sync"

// Mutex is a mutex for fakes, which change and answer in single steps.
type Mutex struct{ sync.Mutex }

// Do does something while the mutex is held.
func (m *Mutex) Do(do func()) {
	m.Lock()
	defer m.Unlock()
	do()
}

// Locked returns what a function returns while a mutex is held.
func Locked[T any](m *Mutex, get func() T) (value T) {
	m.Do(func() { value = get() })
	return value
}
