//! Mappings on both kinds of pages.

use super::*;

#[test]
fn ordinary_pages_are_zeroed_and_writable() {
    let mapping = Mapping::on(10_000, PageKind::Ordinary).unwrap();
    assert_eq!(mapping.len(), 12_288);
    assert_eq!(mapping.as_ptr().as_ptr() as usize % 4096, 0);
    // SAFETY: within the mapping, which nobody else uses.
    unsafe {
        assert_eq!(*mapping.as_ptr().as_ptr().add(12_287), 0);
        *mapping.as_ptr().as_ptr().add(12_287) = 7;
    }
}

#[test]
fn huge_pages_are_used_where_the_machine_has_them() {
    let mapping = Mapping::anonymous(3 << 20).unwrap();
    // SAFETY: within the mapping, which nobody else uses.
    unsafe { *mapping.as_ptr().as_ptr() = 7 };
    if allow_huge_pages(2).is_ok() {
        assert_eq!(mapping.pages(), PageKind::Huge);
    }
    assert_eq!(mapping.len(), if mapping.pages() == PageKind::Huge { 4 << 20 } else { 3 << 20 });
}

#[test]
fn small_mappings_do_not_waste_a_huge_page() {
    assert_eq!(Mapping::anonymous(4096).unwrap().pages(), PageKind::Ordinary);
}

#[test]
fn too_much_memory_is_an_error_with_advice() {
    let text = Mapping::anonymous(usize::MAX - 8).unwrap_err().to_string();
    assert!(text.contains("ask for fewer frames"), "{text}");
}
