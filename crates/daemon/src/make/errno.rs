//! Which errno a module's refusal has: most are about the argument, a few about what the module holds.

use std::error::Error;
use tidegate_control::Errno;
use tidegate_modules::lookup::LookupError;

pub(super) fn of(error: &(dyn Error + 'static)) -> Errno {
    match error.downcast_ref::<LookupError>() {
        Some(error) if error.is_absence() => Errno::ENOENT,
        Some(error) if error.is_lack_of_room() => Errno::ENOSPC,
        _ => Errno::EINVAL,
    }
}
