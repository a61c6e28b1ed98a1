//! Mappings on both kinds of pages, and files read through one.

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

#[test]
fn a_file_is_read_in_pieces_up_to_its_end() {
    let path = std::env::temp_dir().join(format!("tidegate-filemap-{}", std::process::id()));
    let content: Vec<u8> = (0..10_000).map(|index| (index % 251) as u8).collect();
    std::fs::write(&path, &content).unwrap();
    let map = FileMap::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();

    let mut piece = [0; 1448];
    map.will_need(5000, 1_000_000);
    assert_eq!(map.copy_to(5000, &mut piece), 1448);
    assert_eq!(piece[..], content[5000..6448]);
    assert_eq!(map.copy_to(9_900, &mut piece), 100);
    assert_eq!(map.copy_to(10_000, &mut piece), 0);
    assert_eq!(map.copy_to(usize::MAX, &mut piece), 0);
}

#[test]
fn directories_and_absent_files_are_refused_by_name() {
    assert!(FileMap::open("/").unwrap_err().to_string().contains("map / for"));
    assert!(FileMap::open("/absent").unwrap_err().to_string().contains("/absent"));
}

#[test]
fn an_empty_file_is_an_empty_map() {
    let map = FileMap::open("/dev/null").err().map(|error| error.to_string());
    assert!(map.is_some(), "a device is no regular file");
    let path = std::env::temp_dir().join(format!("tidegate-filemap-empty-{}", std::process::id()));
    std::fs::write(&path, b"").unwrap();
    assert!(FileMap::open(&path).unwrap().is_empty());
    std::fs::remove_file(&path).unwrap();
}
