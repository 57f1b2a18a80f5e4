package modules

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"volant/wire/value"
)

// temporaryCopy copies a file and what it is like into dir, for a rename.
func (c *call) temporaryCopy(from, dir string) (string, error) {
	tmp, err := os.CreateTemp(dir, "tmp")
	if err != nil {
		return "", err
	}
	tmp.Close()
	if err := copyContent(from, tmp.Name(), 0o600); err != nil {
		_ = os.Remove(tmp.Name())
		return "", err
	}
	if err := copyStat(from, tmp.Name()); err != nil {
		_ = os.Remove(tmp.Name())
		return "", err
	}
	return tmp.Name(), nil
}

// copyContent is shutil.copyfile.
func copyContent(from, to string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// copyStat is shutil.copystat: times, extended attributes, mode.
func copyStat(from, to string) error {
	var st syscall.Stat_t
	if err := syscall.Stat(from, &st); err != nil {
		return err
	}
	if err := syscall.UtimesNano(to, []syscall.Timespec{st.Atim, st.Mtim}); err != nil {
		return err
	}
	if err := copyXattrs(from, to); err != nil {
		return err
	}
	return syscall.Chmod(to, st.Mode&0o7777)
}

func copyXattrs(from, to string) error {
	size, err := unix.Listxattr(from, nil)
	if err == nil && size > 0 {
		names := make([]byte, size)
		if size, err = unix.Listxattr(from, names); err == nil {
			return eachXattr(names[:size], from, to)
		}
	}
	switch err {
	case nil, unix.ENOTSUP, unix.ENODATA, unix.EINVAL:
		return nil
	}
	return err
}

func eachXattr(names []byte, from, to string) error {
	for start, i := 0, 0; i < len(names); i++ {
		if names[i] != 0 {
			continue
		}
		name := string(names[start:i])
		start = i + 1
		size, err := unix.Getxattr(from, name, nil)
		if err == nil {
			val := make([]byte, size)
			if size, err = unix.Getxattr(from, name, val); err == nil {
				err = unix.Setxattr(to, name, val[:size], 0)
			}
		}
		switch err {
		case nil, unix.EPERM, unix.ENOTSUP, unix.ENODATA, unix.EINVAL, unix.EACCES:
		default:
			return err
		}
	}
	return nil
}

func touchNow(path string) error {
	return syscall.UtimesNano(path, []syscall.Timespec{{Nsec: utimeNow}, {Nsec: utimeNow}})
}

// backupLocal copies a file beside itself under a name with process and time.
func (c *call) backupLocal(ctx context.Context, fn string) (string, error) {
	name, stamp := "", c.now().Format("2006-01-02@15:04:05~")
	for n := os.Getpid(); ; n++ { // every module is a process to the reference: no two write one file
		name = fmt.Sprintf("%s.%d.%s", fn, n, stamp)
		if _, err := os.Lstat(c.p(name)); err != nil {
			break
		}
	}
	from, to := c.p(fn), c.p(name)
	err := copyContent(from, to, 0o666)
	if err == nil {
		err = copyStat(from, to)
	}
	var st, got syscall.Stat_t
	if err == nil {
		if err = syscall.Stat(from, &st); err == nil {
			err = syscall.Stat(to, &got)
		}
	}
	if err == nil && (st.Uid != got.Uid || st.Gid != got.Gid) {
		if err = syscall.Chown(to, int(st.Uid), int(st.Gid)); err == syscall.EPERM {
			err = nil
		}
	}
	if err != nil {
		return "", raise("Could not make backup of "+value.Repr(fn)+" to "+value.Repr(name)+".", asOSError(err, fn, false).Error())
	}
	at, _ := c.fileAttributes(fn, false)
	if _, err := c.setAttributes(ctx, name, &at.flags, true, nil); err != nil {
		return "", err
	}
	return name, nil
}

// mover is how a file is put in the place of another.
type mover struct {
	*call
	unsafe bool // write in place where a rename cannot be
	// raised makes the module's error of an OSError that nothing else explains.
	raised func(err error, path string) error
}

// atomicMove renames from to dest. With keep, a dest that is there hands its
// owner, mode and attributes on; a new file gets what the umask leaves. shown
// is the name of the source in messages.
func (r *mover) atomicMove(from, shown, dest string, keep bool) error {
	to := r.p(dest)
	var was *syscall.Stat_t
	there := exists(to)
	if there && keep {
		was = new(syscall.Stat_t)
		err := syscall.Stat(to, was)
		if err == nil {
			err = syscall.Chown(from, int(was.Uid), int(was.Gid))
		}
		if err == nil {
			err = copyStat(to, from)
		}
		if err == nil {
			err = touchNow(from)
		}
		if err != nil && err != syscall.EPERM {
			return r.raised(err, shown)
		}
	}
	if err := syscall.Rename(from, to); err != nil {
		switch err {
		case syscall.EPERM, syscall.EXDEV, syscall.EACCES, syscall.ETXTBSY, syscall.EBUSY:
		default:
			return raise("Could not replace "+value.Repr(dest)+" with "+value.Repr([]byte(shown))+".", linkError(err, shown, dest))
		}
		if err := r.moveAcross(from, shown, dest, was, keep); err != nil {
			return err
		}
	}
	if !there {
		return r.newFile(to, dest)
	}
	return nil
}

// newFile gives a file that was not there before what creating it would have.
func (r *mover) newFile(to, dest string) error {
	if err := syscall.Chmod(to, 0o666&^r.umask()); err != nil {
		return r.raised(err, dest)
	}
	gid := os.Getegid()
	var dir syscall.Stat_t
	if err := syscall.Stat(filepath.Dir(to), &dir); err == nil && dir.Mode&syscall.S_ISGID != 0 {
		gid = int(dir.Gid)
	}
	_ = syscall.Chown(to, os.Geteuid(), gid) // as good as it gets without being root
	return nil
}

// moveAcross replaces dest by way of a temporary file beside it.
func (r *mover) moveAcross(from, shown, dest string, was *syscall.Stat_t, keep bool) error {
	to := r.p(dest)
	unsafe := func() error {
		if err := copyContent(from, to, 0o666); err != nil {
			return raise("Could not write data to file "+value.Repr(dest)+" from "+value.Repr([]byte(shown))+".", asOSError(err, dest, false).Error())
		}
		return nil
	}
	tmp, err := os.CreateTemp(filepath.Dir(to), ".ansible_tmp*"+filepath.Base(to))
	if err != nil {
		if r.unsafe {
			return unsafe()
		}
		return raise("The destination directory "+value.Repr(dirname(dest))+" is not writable by the current user.", asOSError(err, dirname(dest), false).Error())
	}
	tmp.Close()
	defer os.Remove(tmp.Name()) // gone already when all went well
	err = syscall.Rename(from, tmp.Name())
	if err != nil {
		if err = copyContent(from, tmp.Name(), 0o600); err == nil {
			var st syscall.Stat_t
			if keep { // shutil.copy: the mode; else copy2: everything
				if err = syscall.Stat(from, &st); err == nil {
					err = syscall.Chmod(tmp.Name(), st.Mode&0o7777)
				}
			} else {
				err = copyStat(from, tmp.Name())
			}
			if err == nil {
				_ = os.Remove(from)
			}
		}
	}
	if err == nil && keep {
		err = r.keepOwner(tmp.Name(), was)
	}
	if err != nil {
		if r.unsafe {
			return unsafe()
		}
		return raise("Failed to replace "+value.Repr(dest)+" with "+value.Repr([]byte(shown))+".", asOSError(err, shown, true).Error())
	}
	if err := syscall.Rename(tmp.Name(), to); err != nil {
		if r.unsafe && err == syscall.EBUSY {
			from = tmp.Name()
			return unsafe()
		}
		return raise("Unable to make "+value.Repr([]byte(shown))+" into to "+value.Repr(dest)+", failed final rename from "+value.Repr(tmp.Name())+".",
			linkError(err, tmp.Name(), dest))
	}
	return nil
}

func (r *mover) keepOwner(tmp string, was *syscall.Stat_t) error {
	var st syscall.Stat_t
	err := syscall.Stat(tmp, &st)
	if err == nil && was != nil && (st.Uid != was.Uid || st.Gid != was.Gid) {
		err = syscall.Chown(tmp, int(was.Uid), int(was.Gid))
	}
	if err == nil {
		err = touchNow(tmp)
	}
	if err == syscall.EPERM {
		return nil
	}
	return err
}
